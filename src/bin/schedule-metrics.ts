import { Counter, Gauge, type Registry } from "prom-client";
import type { EtcdBackupSchedule, EtcdBackupScheduleStatus } from "#api/v1beta1/schedule.ts";

// Names as in backup-metrics.ts. Users monitor each schedule, and there are few, so each one has its own series.

const PREFIX = "etcd_operator_backup_schedule";
type Archive = Partial<NonNullable<EtcdBackupScheduleStatus["archive"]>>;
const LABELS = ["namespace", "name"] as const;
/** Exports a value of each schedule; undefined: no series. */
type Export = (name: string, help: string, value: (schedule: EtcdBackupSchedule) => number | undefined) => void;

/** Registers the metrics of schedules. @param list all EtcdBackupSchedules */
export function scheduleMetrics(registry: Registry, list: () => readonly EtcdBackupSchedule[]): void {
  const exported =
    (type: typeof Gauge | typeof Counter): Export =>
    (name, help, value) => {
      const made = new type({
        name: `${PREFIX}_${name}`,
        help,
        labelNames: LABELS,
        registers: [registry],
        collect: () => {
          made.reset(); // Removes the series of deleted objects.
          for (const schedule of list()) {
            const { namespace, name: of } = schedule.metadata;
            const now = value(schedule);
            if (now === undefined) continue;
            if (made instanceof Gauge) made.set({ namespace, name: of }, now);
            else made.inc({ namespace, name: of }, Math.max(0, now)); // A negative one would make every scrape fail.
          }
        },
      });
    };
  const gauge = exported(Gauge);
  gauge(
    "last_success_timestamp_seconds",
    "When the latest good backup of the schedule was made, since 1970; 0 when there is none. Its age is time() less this.",
    ({ status }) => secondsOf(status?.lastSuccessful?.creationTime),
  );
  gauge(
    "last_verified_timestamp_seconds",
    "When the latest verified backup of the schedule was made, since 1970; 0 when there is none.",
    ({ status }) => secondsOf(status?.lastVerified?.creationTime),
  );
  gauge("ready", "1 when the condition BackupReady of the schedule is True, else 0.", ({ status }) =>
    Number(status?.conditions?.some(({ type, status: is }) => type === "BackupReady" && is === "True") ?? false),
  );
  gauge("suspended", "1 when the schedule is suspended, else 0.", ({ spec }) => Number(spec.suspend));
  archiveMetrics(gauge, exported(Counter));
}

/** Registers the metrics of schedules that archive changes. */
function archiveMetrics(gauge: Export, counter: Export): void {
  const of = (
    type: Export,
    name: string,
    help: string,
    value: (archive: Archive, schedule: EtcdBackupSchedule) => number | undefined,
  ) =>
    type(`archive_${name}`, help, (schedule) =>
      schedule.spec.archive === undefined ? undefined : value(schedule.status?.archive ?? {}, schedule),
    );
  of(
    gauge,
    "end_timestamp_seconds",
    "Time up to which all changes are stored, since 1970; 0 when none are. A disaster would lose the changes after it. Its age, time() less this, is up to five minutes while nothing changes. No series while the cluster sleeps.",
    ({ time }, schedule) => (isClusterAsleep(schedule) ? undefined : secondsOf(time)),
  );
  of(gauge, "revision", "The last revision of etcd that is archived; 0 when none is.", ({ revision }) =>
    Number(revision ?? 0),
  );
  of(
    counter,
    "objects_total",
    "Objects that the archive's pod has stored since it started.",
    ({ objects = 0 }) => objects,
  );
  of(
    counter,
    "bytes_total",
    "Total size of the objects that the archive's pod has stored since it started.",
    ({ bytes = 0 }) => bytes,
  );
  of(counter, "gaps_total", "Gaps that the archive's pod has found since it started.", ({ gaps = 0 }) => gaps);
}

/** Whether the schedule reports that its cluster sleeps. */
function isClusterAsleep({ status }: EtcdBackupSchedule): boolean {
  return status?.conditions?.some(({ reason }) => reason === "ClusterAsleep") ?? false;
}

function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time) / 1_000;
}
