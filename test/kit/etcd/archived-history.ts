import { expect } from "vitest";
import { SCHEDULE_LABEL } from "#api/names.ts";
import { NO_TLS } from "#api/tls.ts";
import type { EtcdBackup } from "#api/v1beta1/backup.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import type { EtcdBackupSchedule } from "#api/v1beta1/schedule.ts";
import { eventually, UserCluster, type Written } from "#kit/e2e/e2e.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { asRoot } from "./root-login.ts";

/** Time for an archive pod to start and to report its progress, in milliseconds. */
const ARCHIVED_MS = 180_000;
/** Time for a restore that replays every change of the test, in milliseconds. */
const RESTORED_MS = 400_000;
/** How long `expectAllBack` may take, in milliseconds. */
export const BACK_MS = RESTORED_MS + 200_000;

/** Arguments of etcdctl that print every key and value. */
const EVERYTHING = ["get", "", "--prefix"];

/** Archives every change of a cluster with a schedule, after one backup, while the test changes the cluster. */
export class ArchivedHistory {
  readonly #cluster: UserCluster;
  /** Written keys and their revisions. */
  readonly #markers = new Map<string, number>();
  /** The only backup, made before these changes. */
  readonly #backupName: string;
  /** All keys and values at the revision of the last written key. */
  #content = "";

  /** Starts the schedule: it makes a backup, and archives every change from then on. */
  static async start(cluster: UserCluster): Promise<ArchivedHistory> {
    await new UserBackups(cluster).claim();
    const source = { cluster: { name: cluster.name } };
    await cluster.make("EtcdBackupSchedule", "yearly", {
      schedule: "0 0 1 1 *",
      verification: { every: 1 },
      archive: { maxAge: "2s" },
      backupTemplate: { spec: { source, destination: { volume: { claimName: "backups" } } } },
    });
    const backupName = await eventually(async () => {
      const { archive, lastSuccessful } = await toldOf(cluster);
      const isCovered = BigInt(lastSuccessful?.revision ?? 0) >= BigInt(archive?.from ?? Number.MAX_SAFE_INTEGER) - 1n;
      expect(isCovered, JSON.stringify({ archive, lastSuccessful })).toBe(true);
      return lastSuccessful?.name ?? "";
    }, ARCHIVED_MS);
    return new ArchivedHistory(cluster, backupName);
  }

  private constructor(cluster: UserCluster, backupName: string) {
    this.#cluster = cluster;
    this.#backupName = backupName;
  }

  get markers(): readonly string[] {
    return [...this.#markers.keys()];
  }

  /** The schedule's own backup is verified, too. */
  async expectScheduledVerified(): Promise<void> {
    await new UserBackups(this.#cluster).untilReason(this.#backupName, "Verified", "Verified", ARCHIVED_MS);
  }

  /** Writes a new key, and waits until the archive has stored it. */
  async expectStored(marker: string): Promise<void> {
    const login = await asRoot(this.#cluster);
    const text = await this.#cluster.etcdctl("my-etcd-0", ...login, "put", marker, marker, "-w", "json");
    const { header } = JSON.parse(text) as { header: { revision: number } };
    this.#markers.set(marker, header.revision);
    this.#content = await this.#cluster.etcdctl("my-etcd-0", ...login, ...EVERYTHING, `--rev=${header.revision}`);
    await eventually(async () => {
      const { archive } = await toldOf(this.#cluster);
      expect(Number(archive?.revision ?? 0), JSON.stringify(archive)).toBeGreaterThanOrEqual(header.revision);
    }, ARCHIVED_MS);
  }

  /**
   * Restores a cluster to the last written key, and checks that it has the same keys and values, and no others. The
   * archive must have no gap: after a gap the schedule would have made a second backup.
   * @param spec of the restored cluster; without TLS by default
   */
  async expectAllBack(spec: Written<EtcdClusterSpec> = { tls: NO_TLS }): Promise<void> {
    const { items } = await this.#cluster.json<{ items: EtcdBackup[] }>("get", "etcdbackups", "-l", SCHEDULE_LABEL);
    const backups = items.filter(({ spec }) => spec.archive === undefined);
    expect(backups.map(({ metadata }) => metadata.name)).toEqual([this.#backupName]);
    await this.#cluster.make("EtcdRestore", "back", {
      source: { backupName: this.#backupName },
      until: { revision: String(Math.max(...this.#markers.values())) },
      clusterTemplate: { clusterName: "again", spec: { replicas: 1, ...spec } },
    });
    await eventually(async () => {
      const { status } = await this.#cluster.json<EtcdRestore>("get", "etcdrestore", "back");
      expect(status?.phase, JSON.stringify(status)).toBe("Completed");
    }, RESTORED_MS);
    const again = new UserCluster(this.#cluster.namespace, "again");
    await again.untilReady();
    await eventually(async () => {
      const content = await again.etcdctl("again-0", ...(await asRoot(again)), ...EVERYTHING);
      expect(content).toBe(this.#content);
    });
    for (const marker of this.markers) expect(this.#content).toContain(marker);
  }
}

async function toldOf(cluster: UserCluster) {
  const { status = {} } = await cluster.json<EtcdBackupSchedule>("get", "etcdbackupschedule", "yearly");
  return status as Partial<NonNullable<EtcdBackupSchedule["status"]>>;
}
