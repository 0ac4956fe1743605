// What the browser runs for the pages, which call it by name with data as arguments.
"use strict";

document.documentElement.lang = "en";

document.addEventListener("visibilitychange", () =>
  emitEvent("visible", document.visibilityState === "visible"),
);

document.addEventListener("DOMContentLoaded", () => {
  let told = null;
  new MutationObserver(() => {
    const now = page.isDark();
    if (now !== told && window.emitEvent) emitEvent("shade", (told = now));
  }).observe(document.body, { attributes: true, attributeFilter: ["class"] });
});

const page = {
  isDark: () => document.body.classList.contains("body--dark"),

  zone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,

  tellShade: () => emitEvent("shade", page.isDark()),

  keepShade(cookie, path, named) {
    const year = 365 * 24 * 3600;
    document.cookie = `${cookie}=${named}; path=${path}; max-age=${year}; samesite=strict`;
  },

  // The element of an editor that takes the keys is made by the editor itself.
  dress(id, name, theme) {
    const place = getHtmlElement(id)?.querySelector(".cm-content");
    if (!place) return void setTimeout(page.dress, 100, id, name, theme);
    place.setAttribute("aria-label", name);
    getElement(id).setTheme(theme);
  },

  // The beginning of a word before the cursor of an editor.
  word(id) {
    const view = getElement(id).editor, head = view.state.selection.main.head;
    const line = view.state.doc.lineAt(head);
    return line.text.slice(0, head - line.from).match(/[\w.:-]*$/)[0];
  },

  insert(id, name, replaced) {
    const view = getElement(id).editor, head = view.state.selection.main.head;
    view.dispatch({
      changes: { from: head - replaced, to: head, insert: name },
      selection: { anchor: head - replaced + name.length },
    });
    view.focus();
  },

  focusButton: (id) =>
    setTimeout(() => getHtmlElement(id)?.querySelector("button")?.focus(), 50),

  // Keeps what is written in an editor over a reload; what was kept, with the text it was written over.
  keep(id, base, name) {
    const key = `draft ${location.pathname} ${name}`;
    const draft = JSON.parse(sessionStorage.getItem(key));
    sessionStorage.removeItem(key);
    addEventListener("pagehide", () => {
      const text = getElement(id)?.editor?.state.doc.toString();
      const kept = JSON.stringify([base, text]);
      if (text !== undefined && text !== base) sessionStorage.setItem(key, kept);
    });
    const how = performance.getEntriesByType("navigation")[0]?.type;
    if (how !== "reload" || !draft || draft[1] === base) return null;
    base = draft[0];
    return draft;
  },

  press: (id) => getHtmlElement(id).click(),

  // The questions that the browser keeps; the text of the open one is kept when the page is left.
  questions(id) {
    const key = "sensorstream-questions";
    const read = () => {
      try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; }
    };
    addEventListener("pagehide", () => {
      const text = getElement(id)?.editor?.state.doc.toString(), kept = read();
      if (text === undefined || !kept.open?.[kept.at]) return;
      kept.open[kept.at].text = text;
      page.keepQuestions(kept);
    });
    const how = performance.getEntriesByType("navigation")[0]?.type;
    return { ...read(), reload: how === "reload" };
  },

  // A browser that keeps nothing, or no more, asks nevertheless.
  keepQuestions(kept) {
    try { localStorage.setItem("sensorstream-questions", JSON.stringify(kept)); } catch {}
  },

  // Tells which box of a drawing was meant.
  tellBox(event, emit) {
    const box = event.target.closest("[data-key]");
    if (box) emit(box.dataset.key);
  },

  // The pictures of the ground that maps show, and the credit that these ask for.
  keepGround: (tiles, credit) => (page.ground = { tiles, credit }),

  // Draws shapes on a map, and shows all of them unless somebody has looked closer. West: the
  // longitude at which the map begins; null: the coordinates are of a plane.
  drawMap(id, { west, features }) {
    const map = getElement(id)?.map;
    if (!map || !window.L) return void setTimeout(page.drawMap, 100, id, { west, features });
    const isGlobe = west !== null, before = map.shapes;
    // Leaflet takes a text for HTML.
    const asText = (text) => Object.assign(document.createElement("span"), { textContent: text });
    if (!before) {
      if (!isGlobe) map.options.crs = L.CRS.Simple;
      map.setMinZoom(isGlobe ? 0 : -20);
      if (isGlobe) L.control.scale({ imperial: false }).addTo(map);
      if (isGlobe && page.ground) {
        L.tileLayer(page.ground.tiles).addTo(map);
        const told = L.control.attribution({ prefix: false }).addTo(map);
        told.addAttribution(asText(page.ground.credit).outerHTML);
      }
    }
    const isNamed = features.length < map.getSize().x / 40 && features.every((each) => each.properties.kind !== "way");
    const east = (x) => (isGlobe ? west + ((((x - west) % 360) + 360) % 360) : x);
    const shapes = L.geoJSON(features, {
      coordsToLatLng: ([x, y]) => L.latLng(y, east(x)),
      style: ({ properties }) => ({ className: properties.kind }),
      pointToLayer: ({ properties }, at) =>
        L.circleMarker(at, { radius: properties.kind === "now" ? 7 : 5 }),
      onEachFeature({ properties }, layer) {
        const name = asText(properties.name);
        const beside = { permanent: true, direction: "right", offset: [6, 0], className: "tag" };
        if (properties.name) layer.bindTooltip(name, isNamed ? beside : { sticky: true });
        if (properties.there) layer.on("click", () => location.assign(properties.there));
      },
    });
    const sees = !before || map.getBounds().pad(0.1).contains(before.getBounds());
    before?.remove();
    map.shapes = shapes.addTo(map);
    if (sees && !(before && map.getBounds().contains(shapes.getBounds())))
      map.fitBounds(shapes.getBounds(), { padding: [25, 25], maxZoom: isGlobe ? 16 : 6, animate: false });
  },

  showActive: (id) =>
    setTimeout(
      () =>
        getHtmlElement(id)
          ?.querySelector(".active")
          ?.scrollIntoView({ block: "nearest", inline: "center" }),
      50,
    ),
};

document.cookie = `sensorstream-zone=${page.zone()}; path=/console; samesite=strict`;
