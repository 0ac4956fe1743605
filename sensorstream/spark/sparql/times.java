package sensorstream;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.api.java.UDF4;
import org.apache.spark.sql.api.java.UDF5;

/**
 * The functions of times and durations that the history has in schema store: each computes what its namesake there does
 * (history/time_functions.py).
 */
public class Times {
  static final String XSD = "http://www.w3.org/2001/XMLSchema#";
  static final BigDecimal DAY = BigDecimal.valueOf(86400L);
  static final BigDecimal HOUR = BigDecimal.valueOf(3600L);
  static final BigDecimal MINUTE = BigDecimal.valueOf(60L);
  static final String DATE = "(-?(?:0[0-9]{3}|[1-9][0-9]{3,8}))-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
  static final String CLOCK =
      "(?:([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9](?:\\.[0-9]+)?)|(24):00:00(?:\\.0+)?)";
  static final String ZONE = "(Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?";
  static final Pattern OF_DATE = Pattern.compile(DATE + "()()()()" + ZONE);
  static final Pattern OF_TIME = Pattern.compile("()()()" + CLOCK + ZONE);
  static final Pattern OF_BOTH = Pattern.compile(DATE + "T" + CLOCK + ZONE);
  static final Pattern LENGTH = Pattern.compile(
      "(-)?P(?=.)(?:([0-9]{1,15})Y)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15})D)?"
          + "(?:T(?=[0-9])(?:([0-9]{1,15})H)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15}(?:\\.[0-9]+)?)S)?)?");
  static final long[] MONTHS = {20360L, 20365L, 22838L, 22842L};

  /** A moment has a clock in seconds and perhaps a zone in minutes, a duration months and seconds. */
  static class Value {
    String kind;
    long months;
    BigDecimal clock = BigDecimal.ZERO;
    Integer zone;

    boolean isLength() {
      return isLength(kind);
    }

    static boolean isLength(String kind) {
      return kind.equals("duration") || kind.equals("dayTimeDuration") || kind.equals("yearMonthDuration");
    }

    String family() {
      return isLength() ? "duration" : kind.equals("dateTimeStamp") ? "dateTime" : kind;
    }

    BigDecimal utc() {
      return zone == null ? clock : clock.subtract(MINUTE.multiply(BigDecimal.valueOf(zone.longValue())));
    }

    /** The ends of a duration that begins in one of four fixed months. */
    BigDecimal end(long month) {
      long days = monthStart(month + months) - monthStart(month);
      return clock.add(DAY.multiply(BigDecimal.valueOf(days)));
    }
  }

  static long daysFromCivil(long year, long month, long day) {
    long y = month <= 2 ? year - 1 : year;
    return 365L * y + Math.floorDiv(y, 4L) - Math.floorDiv(y, 100L) + Math.floorDiv(y, 400L)
        + (153L * ((month + 9L) % 12L) + 2L) / 5L + day - 719469L;
  }

  static long[] civilFromDays(long days) {
    long era = Math.floorDiv(days + 719468L, 146097L);
    long ofEra = days + 719468L - era * 146097L;
    long y = (ofEra - ofEra / 1460L + ofEra / 36524L - ofEra / 146096L) / 365L;
    long ofYear = ofEra - (365L * y + y / 4L - y / 100L);
    long shifted = (5L * ofYear + 2L) / 153L;
    long m = shifted < 10L ? shifted + 3L : shifted - 9L;
    return new long[] {y + era * 400L + (m <= 2L ? 1L : 0L), m, ofYear - (153L * shifted + 2L) / 5L + 1L};
  }

  static long monthStart(long months) {
    return daysFromCivil(Math.floorDiv(months, 12L), Math.floorMod(months, 12L) + 1L, 1L);
  }

  static String kind(String datatype) {
    return datatype.startsWith(XSD) ? datatype.substring(XSD.length()) : "";
  }

  static String trimmed(String text) {
    int start = 0;
    int end = text.length();
    while (start < end && " \t\n\r".indexOf(text.charAt(start)) >= 0) start++;
    while (end > start && " \t\n\r".indexOf(text.charAt(end - 1)) >= 0) end--;
    return text.substring(start, end);
  }

  static BigDecimal number(String digits) {
    return digits == null ? BigDecimal.ZERO : new BigDecimal(digits);
  }

  /** Null: not valid, or no time. */
  static Value value(Object written, Object datatype) {
    if (written == null || datatype == null) return null;
    Value made = new Value();
    made.kind = kind((String) datatype);
    String form = trimmed((String) written);
    if (made.isLength()) return length(made, form);
    Pattern pattern = made.kind.equals("date") ? OF_DATE : made.kind.equals("time") ? OF_TIME
        : made.family().equals("dateTime") ? OF_BOTH : null;
    if (pattern == null) return null;
    Matcher m = pattern.matcher(form);
    if (!m.matches()) return null;
    String zone = m.group(8);
    if (zone == null && made.kind.equals("dateTimeStamp")) return null;
    long days = 0L;
    if (!made.kind.equals("time")) {
      long year = Long.parseLong(m.group(1));
      long month = Long.parseLong(m.group(2));
      long day = Long.parseLong(m.group(3));
      days = daysFromCivil(year, month, day);
      long[] found = civilFromDays(days);
      if (found[0] != year || found[1] != month || found[2] != day) return null;
    }
    if (m.group(7) != null && m.group(7).length() > 0) {
      if (!made.kind.equals("time")) made.clock = DAY;
    } else if (!made.kind.equals("date")) {
      made.clock = number(m.group(4)).multiply(HOUR).add(number(m.group(5)).multiply(MINUTE)).add(number(m.group(6)));
    }
    made.clock = made.clock.add(DAY.multiply(BigDecimal.valueOf(days)));
    if (zone != null) {
      int minutes = zone.equals("Z") ? 0
          : Integer.parseInt(zone.substring(1, 3)) * 60 + Integer.parseInt(zone.substring(4, 6));
      made.zone = Integer.valueOf(zone.charAt(0) == '-' ? -minutes : minutes);
    }
    return made;
  }

  static Value length(Value made, String form) {
    Matcher m = LENGTH.matcher(form);
    if (!m.matches()) return null;
    boolean dates = m.group(2) != null || m.group(3) != null;
    boolean clock = m.group(4) != null || m.group(5) != null || m.group(6) != null || m.group(7) != null;
    if (dates && made.kind.equals("dayTimeDuration") || clock && made.kind.equals("yearMonthDuration")) return null;
    made.months = number(m.group(2)).longValue() * 12L + number(m.group(3)).longValue();
    made.clock = number(m.group(4)).multiply(DAY).add(number(m.group(5)).multiply(HOUR))
        .add(number(m.group(6)).multiply(MINUTE)).add(number(m.group(7)));
    if (m.group(1) != null) {
      made.months = -made.months;
      made.clock = made.clock.negate();
    }
    return made;
  }

  /** -1, 0, 1; 2: neither equal nor in order; null: not of one family, or not valid. */
  static Integer order(Value x, Value y) {
    if (x == null || y == null || !x.family().equals(y.family())) return null;
    if (!x.isLength()) {
      BigDecimal gap = x.utc().subtract(y.utc());
      boolean open = (x.zone == null) != (y.zone == null);
      return Integer.valueOf(open && gap.abs().compareTo(BigDecimal.valueOf(50400L)) <= 0 ? 2 : gap.signum());
    }
    if (x.months == y.months) return Integer.valueOf(x.clock.compareTo(y.clock));
    if (x.clock.compareTo(y.clock) == 0) return Integer.valueOf(x.months < y.months ? -1 : 1);
    int found = x.end(MONTHS[0]).compareTo(y.end(MONTHS[0]));
    for (int place = 1; place < MONTHS.length; place++) {
      if (x.end(MONTHS[place]).compareTo(y.end(MONTHS[place])) != found) return Integer.valueOf(2);
    }
    return Integer.valueOf(found);
  }

  static String key(Value x) {
    if (!x.isLength()) return x.utc().toPlainString();
    BigDecimal made = BigDecimal.ZERO;
    for (int place = 0; place < MONTHS.length; place++) made = made.add(x.end(MONTHS[place]));
    return made.toPlainString();
  }

  static String tie(Value x) {
    return x.isLength() ? String.valueOf(x.months) : x.zone == null ? "1" : "0";
  }

  static String two(long number) {
    return (number < 10L ? "0" : "") + number;
  }

  static String plain(BigDecimal number) {
    return number.signum() == 0 ? "0" : number.stripTrailingZeros().toPlainString();
  }

  static long days(BigDecimal clock) {
    return clock.divide(DAY, 0, java.math.RoundingMode.FLOOR).longValue();
  }

  static String zone(Integer zone) {
    if (zone == null) return "";
    int minutes = Math.abs(zone.intValue());
    return minutes == 0 ? "Z" : (zone.intValue() < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
  }

  static String[] clock(BigDecimal clock) {
    BigDecimal rest = clock.subtract(DAY.multiply(BigDecimal.valueOf(days(clock))));
    long hours = rest.divideToIntegralValue(HOUR).longValue();
    long minutes = rest.remainder(HOUR).divideToIntegralValue(MINUTE).longValue();
    String seconds = plain(rest.remainder(MINUTE));
    int whole = seconds.indexOf('.') < 0 ? seconds.length() : seconds.indexOf('.');
    return new String[] {two(hours), two(minutes), (whole < 2 ? "0" : "") + seconds};
  }

  static String momentText(Value x, String kind) {
    long[] day = civilFromDays(days(x.clock));
    if (Math.abs(day[0]) > 999999999L) return null;
    String[] parts = clock(x.clock);
    String clock = parts[0] + ":" + parts[1] + ":" + parts[2];
    String year = String.valueOf(Math.abs(day[0]));
    while (year.length() < 4) year = "0" + year;
    String dates = (day[0] < 0L ? "-" : "") + year + "-" + two(day[1]) + "-" + two(day[2]);
    return (kind.equals("date") ? dates : kind.equals("time") ? clock : dates + "T" + clock) + zone(x.zone);
  }

  static String part(BigDecimal number, String unit) {
    return number.signum() > 0 ? plain(number) + unit : "";
  }

  static String lengthText(long allMonths, BigDecimal allSeconds, String kind) {
    long months = Math.abs(allMonths);
    BigDecimal seconds = allSeconds.abs();
    BigDecimal rest = seconds.remainder(DAY);
    String dates = (months >= 12L ? months / 12L + "Y" : "") + (months % 12L > 0L ? months % 12L + "M" : "")
        + part(seconds.divideToIntegralValue(DAY), "D");
    String clock = part(rest.divideToIntegralValue(HOUR), "H")
        + part(rest.remainder(HOUR).divideToIntegralValue(MINUTE), "M") + part(rest.remainder(MINUTE), "S");
    if (dates.length() + clock.length() == 0) return kind.equals("yearMonthDuration") ? "P0M" : "PT0S";
    return (allMonths < 0L || allSeconds.signum() < 0 ? "-" : "") + "P" + dates
        + (clock.length() == 0 ? "" : "T" + clock);
  }

  static Value moved(Value x, long months, BigDecimal seconds) {
    Value made = new Value();
    made.kind = x.kind;
    made.zone = x.zone;
    made.clock = x.clock;
    if (months != 0L) {
      long days = days(x.clock);
      long[] day = civilFromDays(days);
      long start = monthStart(day[0] * 12L + day[1] - 1L + months);
      long last = monthStart(day[0] * 12L + day[1] + months) - start;
      made.clock = made.clock.add(DAY.multiply(BigDecimal.valueOf(start - 1L - days + Math.min(day[2], last))));
    }
    made.clock = made.clock.add(seconds);
    return made;
  }

  /** The datatype, a blank and the lexical form. */
  static String sum(Value x, Value y, int way) {
    if (x == null || y == null) return null;
    if (x.isLength() && !y.isLength()) return way == 1 ? sum(y, x, 1) : null;
    long months = way * y.months;
    BigDecimal seconds = way == 1 ? y.clock : y.clock.negate();
    String kind = x.kind.equals("dateTimeStamp") ? "dateTime" : x.kind;
    String made = null;
    if (x.isLength()) {
      kind = x.kind.equals(y.kind) ? x.kind : "duration";
      months += x.months;
      seconds = seconds.add(x.clock);
      if (Long.signum(months) * seconds.signum() >= 0) made = lengthText(months, seconds, kind);
    } else if (y.isLength()) {
      if (!kind.equals("time") || !y.kind.equals("yearMonthDuration")) made = momentText(moved(x, months, seconds), kind);
    } else if (way == -1 && x.family().equals(y.family()) && (x.zone == null) == (y.zone == null)) {
      kind = "dayTimeDuration";
      made = lengthText(0L, x.utc().subtract(y.utc()), kind);
    }
    return made == null ? null : XSD + kind + " " + made;
  }

  static String cast(Value x, String wanted) {
    if (x.isLength()) {
      boolean known = x.kind.equals("duration") || x.kind.equals(wanted);
      boolean fits = wanted.equals("duration") || known && (wanted.equals("dayTimeDuration") && x.months == 0L
          || wanted.equals("yearMonthDuration") && x.clock.signum() == 0);
      return fits ? lengthText(x.months, x.clock, wanted) : null;
    }
    boolean fits = wanted.equals("time") ? !x.kind.equals("date")
        : !x.kind.equals("time") && (wanted.equals("date") || wanted.equals("dateTime")
            || wanted.equals("dateTimeStamp") && x.zone != null);
    return fits ? momentText(x, wanted) : null;
  }

  static String part(Value x, String name) {
    if (x.isLength()) return null;
    if (name.equals("TZ")) return zone(x.zone);
    int place = name.equals("YEAR") || name.equals("HOURS") ? 0 : name.equals("SECONDS") || name.equals("DAY") ? 2 : 1;
    if (name.equals("YEAR") || name.equals("MONTH") || name.equals("DAY")) {
      return x.kind.equals("time") ? null : String.valueOf(civilFromDays(days(x.clock))[place]);
    }
    return x.kind.equals("date") ? null : plain(new BigDecimal(clock(x.clock)[place]));
  }

  public static class Of2 implements UDF2, Serializable {
    private final String name;

    public Of2(String name) {
      this.name = name;
    }

    public Object call(Object written, Object datatype) {
      Value found = value(written, datatype);
      if (name.equals("is_time")) return written == null || datatype == null ? null : Boolean.valueOf(found != null);
      if (found == null) return null;
      if (name.equals("time_key")) return key(found);
      if (name.equals("time_tie")) return tie(found);
      return found.isLength() ? lengthText(-found.months, found.clock.negate(), found.kind) : null;
    }
  }

  public static class Of3 implements UDF3, Serializable {
    private final String name;

    public Of3(String name) {
      this.name = name;
    }

    public Object call(Object written, Object datatype, Object wanted) {
      Value found = value(written, datatype);
      if (found == null || wanted == null) return null;
      return name.equals("time_cast") ? cast(found, kind((String) wanted)) : part(found, (String) wanted);
    }
  }

  public static class Order implements UDF4, Serializable {
    public Object call(Object one, Object oneType, Object other, Object otherType) {
      Integer found = order(value(one, oneType), value(other, otherType));
      return found == null ? null : Long.valueOf(found.longValue());
    }
  }

  public static class Sum implements UDF5, Serializable {
    public Object call(Object one, Object oneType, Object other, Object otherType, Object way) {
      return sum(value(one, oneType), value(other, otherType), Integer.parseInt((String) way));
    }
  }
}
