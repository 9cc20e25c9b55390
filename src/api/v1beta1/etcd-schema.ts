import { z } from "zod";
import { durationSchema, quantity } from "#api/common-schema.ts";

/** Maximum number of extra flags. etcd has about a hundred. */
const MAX_EXTRA_ARGS = 64;

const backendQuotaSchema = z
  .object({
    mode: z.enum(["Auto", "Fixed"]).describe("Auto: a quarter of the volume, 8Gi at most. Fixed: the value of size."),
    size: quantity(
      "!q.isLessThan(quantity('64Mi')) && !q.isGreaterThan(quantity('1Ti'))",
      "a size from 64Mi to 1Ti, such as 4Gi",
    )
      .optional()
      .describe("With Fixed: the size, such as 4Gi."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "(self.mode == 'Fixed') == has(self.size)",
        message: "backendQuota must have a size with mode Fixed, and none with mode Auto",
      },
    ],
  })
  .describe(
    "How large the database may become. Without it the quota is 2Gi. On a volume without room for two copies of such a database and the WAL it is smaller.",
  );

const autoCompactionSchema = z
  .object({
    mode: z.enum(["Periodic", "Revision"]).describe("Periodic: by age. Revision: by number of revisions."),
    retention: z
      .string()
      .max(32)
      .describe("How much history is kept: for Periodic a duration such as 1h, for Revision a number such as 1000."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        // etcd parses the number as an int64. The digits are counted first, because `duration()` fails beyond an int64.
        rule: "self.mode == 'Periodic' ? self.retention.matches('^([0-9]{1,7}([.][0-9]{1,8})?(h|m|s))+$') && !self.retention.matches('[0-9]{6}([.][0-9]+)?h') && duration(self.retention) <= duration('87600h') : self.retention.matches('^[1-9][0-9]{0,17}$')",
        messageExpression:
          "'retention is ' + self.retention + '; with mode ' + self.mode + ' it must be ' + (self.mode == 'Periodic' ? 'a duration of at most 87600h, such as 1h' : 'a number of at most 18 digits, such as 1000')",
        message:
          "retention must be a duration up to 87600h (such as 1h) with mode Periodic, and up to 18 digits (such as 1000) with mode Revision",
      },
    ],
  })
  .describe("Automatic compaction of old revisions. Without it etcd keeps all of them until a client compacts.");

export const etcdSchema = z
  .object({
    backendQuota: backendQuotaSchema.optional(),
    autoCompaction: autoCompactionSchema.optional(),
    snapshotCount: z
      .number()
      .int()
      .min(100)
      .max(10_000_000)
      .optional()
      .describe(
        "How many entries of the log are kept in memory before a snapshot. Without it the default of the release.",
      ),
    heartbeatInterval: durationSchema("10ms", "10s")
      .optional()
      .describe("How often the leader sends a heartbeat, such as 100ms, which is etcd's default."),
    electionTimeout: durationSchema("50ms", "50s")
      .optional()
      .describe(
        "How long followers wait without a heartbeat before they elect a new leader, such as 1s, which is etcd's default. At least five times the heartbeat interval.",
      ),
    extraArgs: z
      .record(z.string(), z.string().max(4_096))
      .meta({ maxProperties: MAX_EXTRA_ARGS })
      .optional()
      .describe(
        "Any other flag of this etcd release, by its name without dashes. The operator's own flags are refused.",
      ),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "duration(has(self.electionTimeout) ? self.electionTimeout : '1s').getMilliseconds() >= 5 * duration(has(self.heartbeatInterval) ? self.heartbeatInterval : '100ms').getMilliseconds()",
        message:
          "electionTimeout must be at least five times heartbeatInterval (etcd refuses less); they are 1s and 100ms where they are not given",
      },
    ],
  })
  .describe("Settings of etcd. A change restarts members one after another.");
