package sensorstream;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Arrays;
import org.apache.spark.sql.Encoder;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.api.java.UDF3;
import org.apache.spark.sql.expressions.Aggregator;

/**
 * PostgreSQL's numeric for Spark: numbers of any size, NaN and the infinities, as texts that are in the order of the
 * numbers and equal only where these are (numbers.py describes them).
 */
public class Numbers {
  static final int OFFSET = 500000;
  static final int DIGITS = 6;
  static final String MINUS_INFINITY = "0";
  static final String ZERO = "2";
  static final String INFINITY = "4";
  static final String NAN = "5";

  static String key(BigDecimal given) {
    int sign = given.signum();
    if (sign == 0) return ZERO;
    BigDecimal value = given.stripTrailingZeros();
    String digits = value.unscaledValue().abs().toString();
    long exponent = (long) digits.length() - value.scale() + OFFSET;
    if (exponent < 0 || exponent >= 2 * OFFSET) {
      throw new ArithmeticException("a number beyond 1E499999, or below 1E-500000");
    }
    String written = String.format("%06d", new Object[] {Long.valueOf(exponent)}) + digits;
    return sign > 0 ? "3" + written : "1" + complement(written) + ":";
  }

  static BigDecimal value(String key) {
    if (key.equals(ZERO)) return BigDecimal.ZERO;
    boolean negative = key.charAt(0) == '1';
    String written = negative ? complement(key.substring(1, key.length() - 1)) : key.substring(1);
    int exponent = Integer.parseInt(written.substring(0, DIGITS)) - OFFSET;
    String digits = written.substring(DIGITS);
    BigDecimal made = new BigDecimal(new BigInteger(digits), digits.length() - exponent);
    return negative ? made.negate() : made;
  }

  static boolean isFinite(String key) {
    char kind = key.charAt(0);
    return kind == '1' || kind == '2' || kind == '3';
  }

  static int sign(String key) {
    char kind = key.charAt(0);
    return kind == '2' ? 0 : kind < '2' ? -1 : 1;
  }

  static String infinity(int sign) {
    return sign == 0 ? NAN : sign > 0 ? INFINITY : MINUS_INFINITY;
  }

  static String complement(String digits) {
    char[] made = digits.toCharArray();
    for (int place = 0; place < made.length; place++) made[place] = (char) ('0' + '9' - made[place]);
    return new String(made);
  }

  static String read(String given) {
    String text = given.trim();
    if (text.equals("NaN")) return NAN;
    if (text.equals("Infinity")) return INFINITY;
    if (text.equals("-Infinity")) return MINUS_INFINITY;
    try {
      return key(new BigDecimal(text));
    } catch (NumberFormatException error) {
      return null;
    }
  }

  static String written(String key) {
    if (!isFinite(key)) {
      return key.equals(NAN) ? "NaN" : key.equals(INFINITY) ? "Infinity" : "-Infinity";
    }
    return value(key).stripTrailingZeros().toPlainString();
  }

  /** With 17 digits and an exponent, as to_char(x, '9.9999999999999999EEEE'). */
  static String scientific(String key) {
    if (!isFinite(key)) return null;
    BigDecimal value = value(key).round(new java.math.MathContext(17, RoundingMode.HALF_UP));
    char[] digits = new char[17];
    Arrays.fill(digits, '0');
    String told = value.unscaledValue().abs().toString();
    told.getChars(0, Math.min(17, told.length()), digits, 0);
    int exponent = value.signum() == 0 ? 0 : value.precision() - value.scale() - 1;
    String all = new String(digits);
    return (value.signum() < 0 ? "-" : "") + all.charAt(0) + "." + all.substring(1) + "e"
        + (exponent < 0 ? "-" : "+") + (Math.abs(exponent) < 10 ? "0" : "") + Math.abs(exponent);
  }

  static String sum(String one, String other) {
    if (isFinite(one) && isFinite(other)) return key(value(one).add(value(other)));
    if (isFinite(one)) return other;
    if (isFinite(other)) return one;
    return one.equals(other) ? one : NAN;
  }

  static String negated(String key) {
    if (isFinite(key)) return key(value(key).negate());
    return key.equals(NAN) ? NAN : infinity(-sign(key));
  }

  static String product(String one, String other) {
    if (one.equals(NAN) || other.equals(NAN)) return NAN;
    if (isFinite(one) && isFinite(other)) return key(value(one).multiply(value(other)));
    return infinity(sign(one) * sign(other));
  }

  /** With so many decimal places. */
  static String quotient(String one, String other, int places) {
    if (one.equals(NAN) || other.equals(NAN)) return NAN;
    if (!isFinite(other)) return isFinite(one) ? ZERO : NAN;
    if (sign(other) == 0) return null;
    if (!isFinite(one)) return infinity(sign(one) * sign(other));
    return key(value(one).divide(value(other), places, RoundingMode.HALF_UP));
  }

  /** Functions of one number, but "read", which is one of its text. */
  public static class Of1 implements UDF1, Serializable {
    private final String name;

    public Of1(String name) {
      this.name = name;
    }

    public Object call(Object given) {
      if (given == null) return null;
      String key = (String) given;
      if (name.equals("read")) return read(key);
      if (name.equals("text")) return written(key);
      if (name.equals("scientific")) return scientific(key);
      if (name.equals("negated")) return negated(key);
      if (name.equals("abs")) return sign(key) < 0 ? negated(key) : key;
      if (name.equals("sign")) return key.equals(NAN) ? NAN : key(BigDecimal.valueOf((long) sign(key)));
      if (!isFinite(key)) return key;
      RoundingMode mode = name.equals("floor") ? RoundingMode.FLOOR
          : name.equals("ceil") ? RoundingMode.CEILING : RoundingMode.DOWN;
      return key(value(key).setScale(0, mode));
    }
  }

  public static class ToDouble implements UDF1, Serializable {
    public Object call(Object given) {
      if (given == null) return null;
      String key = (String) given;
      if (isFinite(key)) return Double.valueOf(value(key).doubleValue());
      return Double.valueOf(
          key.equals(NAN) ? Double.NaN
              : key.equals(INFINITY) ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY);
    }
  }

  /** Functions of two numbers; of "round" the second is an integer. */
  public static class Of2 implements UDF2, Serializable {
    private final String name;

    public Of2(String name) {
      this.name = name;
    }

    public Object call(Object given, Object other) {
      if (given == null || other == null) return null;
      String key = (String) given;
      if (name.equals("round")) {
        if (!isFinite(key)) return key;
        return key(value(key).setScale(((Integer) other).intValue(), RoundingMode.HALF_UP));
      }
      String second = (String) other;
      if (name.equals("sum")) return sum(key, second);
      if (name.equals("difference")) return sum(key, negated(second));
      return product(key, second);
    }
  }

  public static class Quotient implements UDF3, Serializable {
    public Object call(Object given, Object other, Object places) {
      if (given == null || other == null) return null;
      return quotient((String) given, (String) other, ((Integer) places).intValue());
    }
  }

  /** The exact sum; null of nothing. */
  public static class Sum extends Aggregator {
    public Object zero() {
      return "";
    }

    public Object reduce(Object buffer, Object given) {
      return given == null ? buffer : merge(buffer, given);
    }

    public Object merge(Object one, Object other) {
      if (((String) one).length() == 0) return other;
      return ((String) other).length() == 0 ? one : Numbers.sum((String) one, (String) other);
    }

    public Object finish(Object buffer) {
      return ((String) buffer).length() == 0 ? null : buffer;
    }

    public Encoder bufferEncoder() {
      return Encoders.STRING();
    }

    public Encoder outputEncoder() {
      return Encoders.STRING();
    }
  }

  /** Microseconds since 1970 of YYYY-MM-DDThh:mm:ss[.f] and a zone; null: there is no such time. */
  public static class Micros implements UDF1, Serializable {
    public Object call(Object given) {
      if (given == null) return null;
      String text = (String) given;
      try {
        int zone = Math.max(text.indexOf('Z', 19), Math.max(text.indexOf('+', 19), text.indexOf('-', 19)));
        LocalDate day = LocalDate.parse(text.substring(0, 10));
        if (day.getYear() == 0) return null;
        long seconds = day.toEpochDay() * 86400L + Integer.parseInt(text.substring(11, 13)) * 3600L
            + Integer.parseInt(text.substring(14, 16)) * 60L + Integer.parseInt(text.substring(17, 19));
        if (text.charAt(zone) != 'Z') {
          long offset = Integer.parseInt(text.substring(zone + 1, zone + 3)) * 3600L
              + Integer.parseInt(text.substring(zone + 4, zone + 6)) * 60L;
          seconds -= text.charAt(zone) == '-' ? -offset : offset;
        }
        String part = zone > 20 ? (text.substring(20, zone) + "000000").substring(0, 6) : "0";
        return Long.valueOf(seconds * 1000000L + Integer.parseInt(part));
      } catch (DateTimeException error) {
        return null;
      } catch (IndexOutOfBoundsException error) {
        return null;
      } catch (NumberFormatException error) {
        return null;
      }
    }
  }
}
