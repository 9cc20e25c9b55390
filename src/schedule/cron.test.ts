import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Calendar, calendarOf, spreadCalendar } from "#schedule/cron.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

function calendar(schedule: string, timeZone = "UTC", anchor = "2026-01-01T00:00:00Z"): Calendar {
  const made = calendarOf({ schedule, timeZone }, Date.parse(anchor));
  if (typeof made === "string") throw new Error(made);
  return made;
}

/** Due times from one moment to another, with a maximum number. */
function between({ next }: Calendar, fromMs: number, toMs: number, most = 1_000): readonly number[] {
  const all: number[] = [];
  for (let at = next(fromMs); at !== undefined && at <= toMs && all.length < most; at = next(at)) all.push(at);
  return all;
}

function texts(times: readonly number[]): readonly string[] {
  return times.map((ms) => new Date(ms).toISOString().replace(":00.000Z", "Z"));
}

describe("spec.schedule", () => {
  test.each<[schedule: string, from: string, first: readonly string[]]>([
    ["0 3 * * *", "2026-01-01T03:00Z", ["2026-01-02T03:00Z", "2026-01-03T03:00Z"]],
    ["00 03 * * *", "2026-01-01T03:00Z", ["2026-01-02T03:00Z"]],
    ["5/20 * * * *", "2026-01-01T00:00Z", ["2026-01-01T00:05Z", "2026-01-01T00:25Z", "2026-01-01T00:45Z", "2026-01-01T01:05Z"]],
    ["*/25 * * * *", "2026-01-01T00:00Z", ["2026-01-01T00:25Z", "2026-01-01T00:50Z", "2026-01-01T01:00Z"]],
    ["*/1 0 1 1 *", "2026-01-01T00:00Z", ["2026-01-01T00:01Z", "2026-01-01T00:02Z"]],
    ["*/90 * * * *", "2026-01-01T00:00Z", ["2026-01-01T01:00Z"]],
    ["10-50/20 1 * * *", "2026-01-01T00:00Z", ["2026-01-01T01:10Z", "2026-01-01T01:30Z", "2026-01-01T01:50Z"]],
    ["0 0 ? JAN-feb Mon", "2026-01-01T00:00Z", ["2026-01-05T00:00Z", "2026-01-12T00:00Z"]],
    ["0 0 13 * 5", "2026-01-01T00:00Z", ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-13T00:00Z"]],
    ["0 0 13 * *", "2026-01-01T00:00Z", ["2026-01-13T00:00Z", "2026-02-13T00:00Z"]],
    ["0 0 */1 * 5", "2026-01-01T00:00Z", ["2026-01-02T00:00Z", "2026-01-09T00:00Z"]],
    ["0 0 13 * *,5", "2026-01-01T00:00Z", ["2026-01-13T00:00Z", "2026-02-13T00:00Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T00:00Z"]],
    ["  0   0  1 1 *  ", "2026-01-01T00:00Z", ["2027-01-01T00:00Z"]],
    ["@yearly", "2026-01-01T00:00Z", ["2027-01-01T00:00Z"]],
    ["@annually", "2026-01-01T00:00Z", ["2027-01-01T00:00Z"]],
    ["@monthly", "2026-01-01T00:00Z", ["2026-02-01T00:00Z", "2026-03-01T00:00Z"]],
    ["@weekly", "2026-01-01T00:00Z", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["@daily", "2026-01-01T00:00Z", ["2026-01-02T00:00Z"]],
    ["@Midnight", "2026-01-01T00:00Z", ["2026-01-02T00:00Z"]],
    ["@hourly", "2026-01-01T00:00Z", ["2026-01-01T01:00Z", "2026-01-01T02:00Z"]],
    ["@every 1h30m", "2026-01-01T00:00Z", ["2026-01-01T01:30Z", "2026-01-01T03:00Z"]],
    ["@every 1h30m", "2025-06-01T00:00Z", ["2026-01-01T01:30Z"]],
    ["@every 1.5h", "2026-01-01T01:00Z", ["2026-01-01T01:30Z"]],
    ["@every 87660h", "2026-01-01T01:00Z", ["2036-01-01T12:00Z"]],
  ])("%s after %s is due as expected", (schedule, from, first) => {
    const found = between(calendar(schedule), Date.parse(from), Number.POSITIVE_INFINITY, first.length);
    expect(texts(found)).toEqual(first);
  }); // biome-ignore format: a table

  test.each<[schedule: string, message: string]>([
    ["", "it must have five fields"],
    ["0 3 * *", "it must have five fields"],
    ["0 3 * * * *", "it must have five fields"],
    ["60 * * * *", 'its minute is "60"; it must be *, or numbers from 0 to 59, ranges'],
    ["* 24 * * *", 'its hour is "24"; it must be *, or numbers from 0 to 23,'],
    ["* * 0 * *", 'its day of the month is "0"; it must be *, or numbers from 1 to 31,'],
    ["* * * 13 *", 'its month is "13"; it must be *, or numbers from 1 to 12 or jan to dec,'],
    ["* * * * 7", 'its day of the week is "7"; it must be *, or numbers from 0 to 6 or sun to sat,'],
    ["* * * * 5-1", 'its day of the week is "5-1"'],
    ["* * L * *", 'its day of the month is "l"'],
    ["* * * * mon#1", 'its day of the week is "mon#1"'],
    ["*/0 * * * *", 'its minute is "*/0"'],
    ["1-2-3 * * * *", 'its minute is "1-2-3"'],
    ["1//2 * * * *", 'its minute is "1//2"'],
    ["1,,2 * * * *", 'its minute is "1,,2"'],
    ["*-5 * * * *", 'its minute is "*-5"'],
    ["jan * * * *", 'its minute is "jan"'],
    ["0 0 31 2,4 *", "no year has that day"],
    ["0 0 30,31 feb *", "no year has that day"],
    ["@every", "it must have five fields"],
    ["@every 1d", "after @every it must have a duration such as 1h30m"],
    ["@every 87661h", "after @every it must be ten years (87660h) at most"],
    ["@every 99999999999999h", "after @every it must be ten years (87660h) at most"],
    ["@every 0s", "after @every it must have a duration such as 1h30m"],
    ["@constructor", "it must have five fields"],
  ])("%j is refused", (schedule, message) => {
    const refusal = calendarOf({ schedule, timeZone: "UTC" }, 0);
    expect(refusal).toContain(`spec.schedule is ${JSON.stringify(schedule)}; `);
    expect(refusal).toContain(message);
  });

  test("every name of a month or day equals its number", () => {
    const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    const from = Date.parse("2026-01-01T00:00Z");
    const first = (schedule: string) => calendar(schedule).next(from);
    expect(months.map((name) => first(`1 0 1 ${name} *`))).toEqual(months.map((_, n) => first(`1 0 1 ${n + 1} *`)));
    expect(days.map((name) => first(`1 0 * * ${name}`))).toEqual(days.map((_, n) => first(`1 0 * * ${n}`)));
  });

  test("a day that not every month has is accepted", () => {
    expect(texts(between(calendar("0 0 31 2,3 *"), 0, DAY_MS * 365))).toEqual(["1970-03-31T00:00Z"]);
    expect(between(calendar("0 0 31 2 1"), 0, DAY_MS * 365)).toHaveLength(4); // Mondays of February
  });

  test("an unknown time zone is refused", () => {
    const refusal = calendarOf({ schedule: "@daily", timeZone: "Mars/Phobos" }, 0);
    expect(refusal).toContain('spec.timeZone is "Mars/Phobos"; it must be the name of a time zone');
  });
});

describe("a schedule with @every", () => {
  const { latest, next } = calendar("@every 90s", "UTC", "2026-01-01T12:00:10Z");
  const at = (text: string) => Date.parse(`2026-01-01T${text}Z`);

  test("counts from the creation of the schedule, which itself is not due", () => {
    expect(latest(at("12:01:39"))).toBeUndefined();
    expect(latest(at("12:01:40"))).toBe(at("12:01:40"));
    expect(latest(at("12:03:09"))).toBe(at("12:01:40"));
    expect(latest(at("11:00:00"))).toBeUndefined();
    expect(next(at("12:00:10"))).toBe(at("12:01:40"));
    expect(next(at("12:01:40"))).toBe(at("12:03:10"));
    expect(next(at("11:00:00"))).toBe(at("12:01:40"));
  });

  test.each([
    ["@every 1ms", 1_000],
    ["@every 1500ms", 1_000],
    ["@every 2.9s", 2_000],
  ])("%s counts in whole seconds", (schedule, ms) => {
    expect(calendar(schedule, "UTC", "1970-01-01T00:00:00Z").next(0)).toBe(ms);
  });
});

/** A field as robfig/cron reads it: text and meaning. */
interface Said {
  readonly text: string;
  readonly values: ReadonlySet<number>;
  readonly isAny: boolean;
}

function field(min: number, max: number): fc.Arbitrary<Said> {
  const number = fc.integer({ min, max });
  const all = Array.from({ length: max - min + 1 }, (_, n) => n + min);
  const part = fc.oneof(
    number.map((n) => ({ text: `${n}`, values: [n] })),
    fc.tuple(number, number).map(([a, b]) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      return { text: `${low}-${high}`, values: all.filter((n) => n >= low && n <= high) };
    }),
    fc.tuple(number, fc.integer({ min: 1, max: max + 3 })).map(([low, step]) => {
      return { text: `${low}/${step}`, values: all.filter((n) => n >= low && (n - low) % step === 0) };
    }),
    fc.integer({ min: 2, max: max + 3 }).map((step) => {
      return { text: `*/${step}`, values: all.filter((n) => (n - min) % step === 0) };
    }),
  );
  return fc.oneof(
    fc.constantFrom("*", "?", "*/1").map((text) => ({ text, values: new Set(all), isAny: true })),
    fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => ({
      text: parts.map(({ text }) => text).join(","),
      values: new Set(parts.flatMap(({ values }) => values)),
      isAny: false,
    })),
  );
}

const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6));
const moment = fc.integer({ min: Date.parse("2026-01-01T00:00Z"), max: Date.parse("2029-01-01T00:00Z") });

/** Whether a minute of UTC is due by robfig/cron's rule for days. */
function isMeant([minute, hour, day, month, weekday]: readonly Said[], ms: number): boolean {
  const date = new Date(ms);
  const isDay = day?.values.has(date.getUTCDate()) === true;
  const isWeekday = weekday?.values.has(date.getUTCDay()) === true;
  const isDue = day?.isAny === true || weekday?.isAny === true ? isDay && isWeekday : isDay || isWeekday;
  return (
    isDue &&
    month?.values.has(date.getUTCMonth() + 1) === true &&
    hour?.values.has(date.getUTCHours()) === true &&
    minute?.values.has(date.getUTCMinutes()) === true
  );
}

test("a schedule of five fields is due at the same times as in robfig/cron", () => {
  fc.assert(
    fc.property(fields, moment, (said, fromMs) => {
      const made = calendarOf({ schedule: said.map(({ text }) => text).join(" "), timeZone: "UTC" }, 0);
      fc.pre(typeof made !== "string"); // a day that no year has
      const first = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
      const minutes = Array.from({ length: 3_000 }, (_, n) => first + n * MINUTE_MS);
      const expected = minutes.filter((ms) => isMeant(said, ms)).slice(0, 5);
      const { next } = made as Calendar;
      const found = between(made as Calendar, fromMs, minutes.at(-1) ?? 0, 5);
      expect(found).toEqual(expected);
      expect(next(fromMs)).toBeGreaterThan(fromMs);
    }),
    { numRuns: 150 },
  );
});

const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia"];

test("the latest due time precedes the next due time in every time zone", () => {
  const schedules = fc.constantFrom(
    "30 2 * * *",
    "*/15 * * * *",
    "0 1,2,3 * * *",
    "15 1 * * 0",
    "@hourly",
    "@every 7m",
  );
  fc.assert(
    fc.property(schedules, fc.constantFrom(...ZONES), moment, (schedule, timeZone, fromMs) => {
      const { latest, next } = calendar(schedule, timeZone);
      const first = next(fromMs) ?? Number.NaN;
      const second = next(first) ?? Number.NaN;
      expect(first).toBeGreaterThan(fromMs);
      expect(latest(first)).toBe(first);
      expect(latest(second - 1)).toBe(first);
      expect(latest(fromMs) ?? Number.NEGATIVE_INFINITY).toBeLessThanOrEqual(fromMs);
    }),
    { numRuns: 200 },
  );
});

describe("a calendar that is spread over a window", () => {
  const SECOND_MS = 1_000;
  const at = (time: string) => Date.parse(`2026-01-01T${time}Z`);
  /** The part of the window for this uid is 0.7333. */
  const UID = "uid-of-schedule";

  test.each<[schedule: string, window: number, from: string, latest: string, next: string]>([
    ["0 * * * *", 30, "12:00:00", "11:21:59", "12:21:59"],
    ["0 * * * *", 30, "12:21:58", "11:21:59", "12:21:59"],
    ["0 * * * *", 30, "12:21:59", "12:21:59", "13:21:59"],
    ["0 * * * *", 30, "12:59:59", "12:21:59", "13:21:59"],
    ["0 * * * *", 1, "12:00:00", "11:00:43", "12:00:43"],
    // The window is longer than the time to the next run, which bounds it: 44 of 60 and 11 of 15 minutes.
    ["0 * * * *", 24 * 60, "12:00:00", "11:43:59", "12:43:59"],
    ["0,15 * * * *", 30, "12:00:00", "11:36:59", "12:10:59"],
    ["0,15 * * * *", 30, "12:15:00", "12:10:59", "12:36:59"],
    ["@every 1h", 30, "02:00:00", "01:21:59", "02:21:59"],
  ])("of %s with a window of %s min: at %s", (schedule, minutes, from, latest, next) => {
    const spread = spreadCalendar(calendar(schedule), minutes * MINUTE_MS, UID);
    expect(texts([spread.latest(at(from))!, spread.next(at(from))!])).toEqual(
      [latest, next].map((time) => new Date(at(time)).toISOString().replace(":00.000Z", "Z")),
    );
  });

  test("has no due time before the first one", () => {
    const spread = spreadCalendar(calendar("@every 1h"), 30 * MINUTE_MS, UID);
    expect(spread.latest(at("01:21:58"))).toBeUndefined();
    expect(spread.next(at("00:00:00"))).toBe(at("01:21:59"));
    const once = spreadCalendar({ latest: () => undefined, next: () => undefined }, MINUTE_MS, UID);
    expect([once.latest(0), once.next(0)]).toEqual([undefined, undefined]);
  });

  test("has each due time once, within the window and not beyond the next one, in every time zone", () => {
    const schedules = fc.constantFrom("30 2 * * *", "*/15 * * * *", "0 1,2,3 * * *", "15 1 * * 0", "@every 7m");
    const windows = fc.constantFrom(1, 30, 600, 1_440);
    fc.assert(
      fc.property(
        schedules,
        fc.constantFrom(...ZONES),
        windows,
        fc.uuid(),
        moment,
        (text, zone, window, uid, fromMs) => {
          const plain = calendar(text, zone);
          const spread = spreadCalendar(plain, window * MINUTE_MS, uid);
          const due = between(plain, fromMs, Number.POSITIVE_INFINITY, 12);
          const starts = between(spread, due[0]!, due.at(-1)!, 20);
          // A window of the first or last run may reach beyond the span.
          expect(Math.abs(starts.length - (due.length - 1))).toBeLessThanOrEqual(1);
          for (const [place, ms] of starts.entries()) {
            expect(ms - (plain.latest(ms) ?? Number.NaN)).toBeLessThanOrEqual(window * MINUTE_MS);
            expect(ms % SECOND_MS).toBe(0);
            expect(spread.latest(ms)).toBe(ms);
            if (place > 0) expect(spread.latest(ms - 1)).toBe(starts[place - 1]);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("spreads a thousand schedules evenly", () => {
    const daily = calendar("0 0 * * *");
    const starts = Array.from({ length: 1_000 }, (_, n) => spreadCalendar(daily, 30 * MINUTE_MS, `uid-${n}`).next(0)!);
    const minutes = Map.groupBy(starts, (ms) => Math.floor((ms % DAY_MS) / (3 * MINUTE_MS)));
    expect(minutes.size).toBe(10);
    for (const [, each] of minutes) expect(each.length).toBeGreaterThan(60);
  });
});

describe("when clocks change", () => {
  const days = (zone: string, schedule: string, from: string, to: string) =>
    texts(between(calendar(schedule, zone), Date.parse(from), Date.parse(to)));

  test.each<[zone: string, schedule: string, from: string, to: string, due: readonly string[]]>([
    // Forward: a skipped time is due at the change.
    ["Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", "2026-03-30T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]],
    ["America/New_York", "30 2 * * *", "2026-03-07T12:00Z", "2026-03-09T12:00Z", ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00Z", "2026-10-05T00:00Z", ["2026-10-03T15:30Z", "2026-10-04T15:15Z"]],
    ["Europe/Berlin", "0,30 2 * * *", "2026-03-28T12:00Z", "2026-03-29T12:00Z", ["2026-03-29T01:00Z"]],
    // Back: a repeated time is due once.
    ["Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", "2026-10-26T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]],
    ["America/New_York", "30 1 * * *", "2026-10-31T12:00Z", "2026-11-02T12:00Z", ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]],
    ["Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00Z", "2026-04-06T00:00Z", ["2026-04-04T14:45Z", "2026-04-05T15:15Z"]],
    ["Europe/Berlin", "0 1,2,3 * * *", "2026-10-24T12:00Z", "2026-10-25T12:00Z", ["2026-10-24T23:00Z", "2026-10-25T00:00Z", "2026-10-25T02:00Z"]],
    // A schedule with * follows elapsed time.
    ["Europe/Berlin", "30 * * * *", "2026-03-29T00:00Z", "2026-03-29T03:00Z", ["2026-03-29T00:30Z", "2026-03-29T01:30Z", "2026-03-29T02:30Z"]],
    ["Europe/Berlin", "30 * * * *", "2026-10-24T23:45Z", "2026-10-25T03:00Z", ["2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25T02:30Z"]],
    ["Australia/Lord_Howe", "*/30 * * * *", "2026-04-04T14:00Z", "2026-04-04T16:00Z", ["2026-04-04T14:30Z", "2026-04-04T15:00Z", "2026-04-04T15:30Z", "2026-04-04T16:00Z"]],
  ])("in %s, schedule %s is due as documented", (zone, schedule, from, to, due) => {
    expect(days(zone, schedule, from, to)).toEqual(due);
  }); // biome-ignore format: a table

  test("a daily time is due once on each day in every time zone", () => {
    const time = fc.tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }));
    const start = fc.integer({ min: Date.parse("2020-01-01T00:00Z"), max: Date.parse("2030-01-01T00:00Z") });
    fc.assert(
      fc.property(time, fc.constantFrom(...ZONES.slice(0, 5)), start, ([minute, hour], zone, fromMs) => {
        const due = between(calendar(`${minute} ${hour} * * *`, zone), fromMs, fromMs + 200 * DAY_MS);
        const format = new Intl.DateTimeFormat("en-CA", { timeZone: zone });
        const dates = due.map((ms) => format.format(ms));
        expect(new Set(dates).size).toBe(dates.length);
        expect(due.length).toBeGreaterThanOrEqual(199);
      }),
      { numRuns: 40 },
    );
  });
});
