import { z } from "zod";
import { spanSchema } from "#api/common-schema.ts";

const MAX_KEPT = 10_000;

/** @param of what is counted, for the description */
function count(of: string) {
  return z.number().int().min(1).max(MAX_KEPT).optional().describe(of);
}

const per = (period: string) =>
  count(`The last backup of each of this many ${period}: the latest ${period} that have one. In spec.timeZone.`);

export const retentionSchema = z
  .object({
    keepLast: count("This many of the latest backups."),
    keepFor: spanSchema()
      .optional()
      .describe(
        "All backups up to this age, such as 30d. It counts from the latest backup, so that none is deleted while no new ones are made. A week is 7 days, a day 24 hours.",
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
    "Which completed backups are kept; all others are deleted with their objects, whatever deletionPolicy is. A backup is kept if one of these fields keeps it. They count separately for each etcd cluster, by its ID, and its latest backup is never deleted. Without retention none is deleted.",
  );
