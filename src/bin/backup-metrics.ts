import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { EtcdBackup, EtcdBackupStatus } from "#api/v1beta1/backup.ts";
import type { OnEnd } from "#backup/controller.ts";

// Names as in runtime/metrics.ts. There is no label for the backup, because the number of series would grow without
// bound. Its status has the details.

const PREFIX = "etcd_operator_backup";
const PHASES = ["BackingUp", "Completed", "Failed"];
const VERDICTS = ["True", "False", "Unknown"];
/** Buckets in seconds: from a small database nearby to many GiB over a slow network. */
const SECONDS_BUCKETS = [1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200];

/**
 * Registers the metrics of backups.
 * @param list all EtcdBackups; undefined: unknown to this process, which then exports no values
 * @returns a function to call with the status of each backup that ends
 */
export function backupMetrics(registry: Registry, list: () => readonly EtcdBackup[] | undefined): OnEnd {
  const registers = [registry];
  const ends = new Counter({
    name: `${PREFIX}s_ended_total`,
    help: "Backups that ended, by phase and by the reason of their condition Failed or Complete.",
    labelNames: ["phase", "reason"],
    registers,
  });
  const seconds = new Histogram({
    name: `${PREFIX}_duration_seconds`,
    help: "Duration of completed backups, from the first pass of the EtcdBackup.",
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const gauge = (name: string, help: string, value: (all: readonly EtcdBackup[]) => number) => {
    const collect = (): void => {
      const all = list();
      if (all === undefined) made.remove();
      else made.set(value(all));
    };
    const made: Gauge = new Gauge({ name: PREFIX + name, help, registers, collect });
  };
  gauge(
    "_last_success_timestamp_seconds",
    "When the newest existing EtcdBackup with phase Completed was completed, since 1970; 0 when there is none.",
    (all) => Date.parse(newestOf(all)?.completionTime ?? "1970-01-01T00:00:00Z") / 1_000,
  );
  gauge(
    "_last_success_bytes",
    "Size of the snapshot of the newest of the completed backups; 0 when there is none.",
    (all) => newestOf(all)?.object?.bytes ?? 0,
  );
  gauge(
    "_last_verified_timestamp_seconds",
    "When the newest existing EtcdBackup that was verified was completed, since 1970; 0 when there is none.",
    (all) => Date.parse(newestOf(all.filter(isVerified))?.completionTime ?? "1970-01-01T00:00:00Z") / 1_000,
  );
  const verdicts: Gauge<"status"> = new Gauge({
    name: `${PREFIX}s_verified`,
    help: "Existing EtcdBackups with verification, by the status of their condition Verified.",
    labelNames: ["status"],
    registers,
    collect: () => {
      verdicts.reset();
      const all = list()?.map(verdictOf);
      if (all === undefined) return;
      for (const status of VERDICTS) verdicts.set({ status }, all.filter((each) => each === status).length);
    },
  });
  const phases: Gauge<"phase"> = new Gauge({
    name: `${PREFIX}s`,
    help: "Existing EtcdBackups, by phase.",
    labelNames: ["phase"],
    registers,
    collect: () => {
      phases.reset();
      const all = list();
      if (all === undefined) return;
      for (const phase of PHASES) phases.set({ phase }, all.filter(({ status }) => status?.phase === phase).length);
    },
  });
  return ({ phase = "", conditions = [], startTime = "", completionTime = "" }) => {
    const reason = conditions.find(({ type }) => type === "Failed")?.reason ?? "";
    ends.inc({ phase, reason });
    if (phase === "Completed") seconds.observe((Date.parse(completionTime) - Date.parse(startTime)) / 1_000);
  };
}

function verdictOf({ status }: EtcdBackup): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Verified")?.status;
}

function isVerified(backup: EtcdBackup): boolean {
  return verdictOf(backup) === "True";
}

function newestOf(backups: readonly EtcdBackup[]): EtcdBackupStatus | undefined {
  const whole = backups.flatMap(({ status }) => (status?.phase === "Completed" ? [status] : []));
  return whole.reduce<EtcdBackupStatus | undefined>(
    (newest, each) => ((newest?.completionTime ?? "") < (each.completionTime ?? "") ? each : newest),
    undefined,
  );
}
