import { z } from "zod";
import { durationSchema, quantity } from "#api/common-schema.ts";

/** Maximum number of extra flags. etcd has about a hundred. */
const MAX_EXTRA_ARGS = 64;
/** Maximum number of kept revisions, more than a database can hold. JSON in JavaScript is exact up to 9e15. */
const MAX_KEPT_REVISIONS = 1_000_000_000_000;

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
    mode: z
      .enum(["Periodic", "Revision", "None"])
      .describe(
        "Periodic: etcd keeps the history of a period. Revision: it keeps a number of revisions. None: it keeps all history until a client compacts.",
      ),
    period: durationSchema("1m", "87600h").optional().describe("With Periodic: how much history is kept, such as 1h."),
    revisions: z
      .number()
      .int()
      .min(1)
      .max(MAX_KEPT_REVISIONS)
      .optional()
      .describe("With Revision: how many revisions are kept, such as 1000."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.period) == (self.mode == 'Periodic') && has(self.revisions) == (self.mode == 'Revision')",
        messageExpression:
          "'mode is ' + self.mode + ', with ' + (has(self.period) ? (has(self.revisions) ? 'period and revisions' : 'period') : (has(self.revisions) ? 'revisions' : 'neither period nor revisions')) + '; it must be Periodic with period, Revision with revisions, or None with neither'",
        message: "mode must be Periodic with period, Revision with revisions, or None with neither",
      },
    ],
  })
  .describe("Automatic compaction of old revisions. Without it etcd keeps all history, as with None.");

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
