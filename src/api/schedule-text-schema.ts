import { z } from "zod";

// What can the API server check of a schedule?
//   Its syntax, and that each number is in the range of its field. The operator finds other errors, such as the range
//   5-1 or 31 February, and reports them in the status.

/** Pattern of one of the five fields. @param value pattern of one value */
function field(value: string): string {
  const part = `([*?]|(${value})(-(${value}))?)(/0*[1-9][0-9]?)?`;
  return `${part}(,${part})*`;
}

const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const DAYS = "sun|mon|tue|wed|thu|fri|sat";

const FIELDS = [
  field("0*[0-5]?[0-9]"),
  field("0*(1?[0-9]|2[0-3])"),
  field("0*([1-9]|[12][0-9]|3[01])"),
  field(`0*([1-9]|1[0-2])|${MONTHS}`),
  field(`0*[0-6]|${DAYS}`),
].join(" +");

/** Pattern of a schedule. The operator accepts the same ones. Case does not count in names of months and days. */
const SCHEDULES = `^(?i)(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|@every +([0-9]+([.][0-9]+)?(ms|s|m|h))+|${FIELDS})$`;

export const A_SCHEDULE =
  "five fields (minute, hour, day, month, weekday) such as 0 3 * * *, or @hourly, @daily, @weekly, @monthly, @yearly, or such as @every 1h30m";

/** Schema of a schedule in the syntax of https://pkg.go.dev/github.com/robfig/cron/v3 */
export const scheduleSchema = z
  .string()
  .max(128)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `self.matches('${SCHEDULES}')`,
        messageExpression: `'it is ' + self + '; it must be ${A_SCHEDULE}'`,
        message: `it must be ${A_SCHEDULE}`,
      },
    ],
  })
  .describe(
    "When backups are made: five fields as in a crontab, such as `0 3 * * *` or `*/15 8-18 * * MON-FRI`, or @hourly, @daily, @weekly, @monthly, @yearly. Or @every with a duration, such as `@every 6h`, counted from the creation of the EtcdBackupSchedule.",
  );
