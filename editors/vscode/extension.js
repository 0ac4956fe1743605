// Starts `sensorstream language-server` for rule files, queries and rules over time.
"use strict";

const vscode = require("vscode");

let client;

function activate(context) {
  let protocol;
  try {
    protocol = require("vscode-languageclient/node");
  } catch (error) {
    vscode.window.showWarningMessage(
      "SensorStream: run 'npm install' in the folder of this extension; " +
        "until then there are colours and snippets only."
    );
    return undefined;
  }
  const command = vscode.workspace.getConfiguration("sensorstream").get("command");
  const files = vscode.workspace.createFileSystemWatcher(
    "**/*.{rules,rq,dotr,dlog,toml,ttl,nt,rdf,owl,owx,csv,py,xml,xsl}"
  );
  context.subscriptions.push(files);
  client = new protocol.LanguageClient(
    "sensorstream",
    "SensorStream",
    { command, args: ["language-server"] },
    {
      documentSelector: [
        { language: "sensorstream-rules" },
        { language: "sensorstream-sparql" },
        { language: "sensorstream-dotr" },
      ],
      synchronize: { fileEvents: files },
    }
  );
  return client.start();
}

function deactivate() {
  return client ? client.stop() : undefined;
}

module.exports = { activate, deactivate };
