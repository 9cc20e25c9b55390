import { z } from "zod";

/** A day of a retention has 24 hours, a week 7 days. */
const KEEP_FOR = "^([1-9][0-9]*(w|d|h|m|s))+$";
const A_KEEP_FOR = "a duration such as 30d or 12h, in weeks (w), days (d), hours (h), minutes (m) or seconds (s)";

const MAX_KEPT = 10_000;

/** @param of which ones, for people */
function count(of: string) {
  return z.number().int().min(1).max(MAX_KEPT).optional().describe(of);
}

const per = (period: string) =>
  count(`The last one of each of so many ${period}: the latest ${period} that have one. In spec.timeZone.`);

export const retentionSchema = z
  .object({
    keepLast: count("So many of the latest."),
    keepFor: z
      .string()
      .max(32)
      .meta({
        "x-kubernetes-validations": [
          {
            rule: `self.matches('${KEEP_FOR}')`,
            messageExpression: `'it is ' + self + '; it must be ${A_KEEP_FOR}'`,
            message: `it must be ${A_KEEP_FOR}`,
          },
        ],
      })
      .optional()
      .describe(
        "All that are not older than this, such as 30d, counted back from the latest one, so that nothing goes while no new ones come. A week is 7 days, a day 24 hours.",
      ),
    keepDaily: per("days"),
    keepWeekly: per("weeks"),
    keepMonthly: per("months"),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.keepLast) || has(self.keepFor) || has(self.keepDaily) || has(self.keepWeekly) || has(self.keepMonthly)",
        message: "retention must have at least one of keepLast, keepFor, keepDaily, keepWeekly and keepMonthly",
      },
    ],
  })
  .describe(
    "Which completed backups are kept; all others are deleted with their objects, whatever objectPolicy says. What one of these keeps is kept. They count separately for each etcd cluster, by its ID, and the latest one of each is never deleted. Without retention none is deleted.",
  );
