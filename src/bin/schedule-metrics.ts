import { Gauge, type Registry } from "prom-client";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";

// Names as in backup-metrics.ts. A schedule is what people watch over, and there are few: each has its own line.

const PREFIX = "etcd_operator_backup_schedule";
const LABELS = ["namespace", "name"] as const;

/** What is to be told of schedules. @param list every EtcdBackupSchedule that there is */
export function scheduleMetrics(registry: Registry, list: () => readonly EtcdBackupSchedule[]): void {
  const gauge = (name: string, help: string, value: (schedule: EtcdBackupSchedule) => number) => {
    const made: Gauge<(typeof LABELS)[number]> = new Gauge({
      name: `${PREFIX}_${name}`,
      help,
      labelNames: LABELS,
      registers: [registry],
      collect: () => {
        made.reset(); // those that are gone
        for (const schedule of list()) {
          const { namespace, name: of } = schedule.metadata;
          made.set({ namespace, name: of }, value(schedule));
        }
      },
    });
  };
  gauge(
    "last_success_timestamp_seconds",
    "When the latest good backup of the schedule was made, since 1970; 0 when there is none. Its age is time() less this.",
    ({ status }) => secondsOf(status?.lastSuccessful?.time),
  );
  gauge(
    "last_verified_timestamp_seconds",
    "When the latest backup of the schedule was made that was restored and found whole, since 1970; 0 when there is none.",
    ({ status }) => secondsOf(status?.lastVerified?.time),
  );
  gauge("ready", "1 when the latest run of the schedule left a good backup, else 0.", ({ status }) =>
    Number(status?.conditions?.some(({ type, status: is }) => type === "BackupReady" && is === "True") ?? false),
  );
  gauge("suspended", "1 when the schedule is suspended, else 0.", ({ spec }) => Number(spec.suspend));
}

function secondsOf(time: string | undefined): number {
  return time === undefined ? 0 : Date.parse(time) / 1_000;
}
