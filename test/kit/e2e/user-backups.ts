import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { DEFAULT_VERSION } from "#api/common-schema.ts";
import { BACKUP_DESTINATION_LABEL } from "#api/names.ts";
import type { EtcdBackup, EtcdBackupSpec } from "#api/v1beta1/backup.ts";
import type { EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { EtcdRestore } from "#api/v1beta1/restore.ts";
import { mainBinary } from "#dev/components.ts";
import { freePort } from "#kit/servers/free-port.ts";
import { eventually, UserCluster, type Written } from "./e2e.ts";

/** How long a restore may take, in milliseconds. */
export const RESTORED_MS = 300_000;

/** Backups in the namespace of a cluster, handled with kubectl as a user does. */
export class UserBackups {
  readonly #cluster: UserCluster;

  constructor(cluster: UserCluster) {
    this.#cluster = cluster;
  }

  /** Creates the claim `backups`, to which backups may be written. */
  async claim(): Promise<void> {
    await this.#cluster.apply({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "backups", labels: { [BACKUP_DESTINATION_LABEL]: "true" } },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
  }

  async secret(name: string, files: Readonly<Record<string, string>>): Promise<void> {
    await this.#cluster.apply({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: files });
  }

  async backUp(name: string, spec: Written<EtcdBackupSpec>): Promise<void> {
    await this.#cluster.make("EtcdBackup", name, spec);
  }

  async read(name: string): Promise<EtcdBackup> {
    return await this.#cluster.json<EtcdBackup>("get", "etcdbackup", name);
  }

  /** Waits until the backup has this phase. */
  async until(name: string, phase: "Completed" | "Failed", deadlineMs = 120_000): Promise<EtcdBackup> {
    return await eventually(async () => {
      const backup = await this.read(name);
      if (backup.status?.phase !== phase) throw new Error(`${name} is not ${phase}: ${JSON.stringify(backup.status)}`);
      return backup;
    }, deadlineMs);
  }

  /**
   * Waits until the condition has this reason.
   * @returns its message
   */
  async untilReason(
    name: string,
    type: "Complete" | "Failed" | "Verified",
    reason: string,
    deadlineMs = 60_000,
  ): Promise<string> {
    return await eventually(async () => {
      const { status } = await this.read(name);
      const condition = status?.conditions?.find((each) => each.type === type);
      if (condition?.reason === reason) return condition.message;
      throw new Error(`${type} of ${name} is ${JSON.stringify(condition)}`);
    }, deadlineMs);
  }

  /**
   * Backs the cluster up to a claim, verifies the backup, and restores it as `restored`.
   * @param spec of the restored cluster
   * @returns the restored cluster when it is Ready
   */
  async verifiedAndRestored(spec: Written<EtcdClusterSpec>): Promise<UserCluster> {
    await this.claim();
    const source = { cluster: { name: this.#cluster.name } };
    await this.backUp("nightly", {
      source,
      destination: { volume: { claimName: "backups" } },
      verification: { mode: "Restore" },
    });
    await this.until("nightly", "Completed");
    await this.untilReason("nightly", "Verified", "Verified", 120_000);
    return await this.restoredAs("restored", spec);
  }

  /**
   * Restores this backup.
   * @returns the restored cluster when it is Ready
   */
  async restoredAs(clusterName: string, spec: Written<EtcdClusterSpec>, backupName = "nightly"): Promise<UserCluster> {
    const name = `to-${clusterName}`;
    const clusterTemplate = { clusterName, spec: { version: DEFAULT_VERSION, ...spec } };
    await this.#cluster.make("EtcdRestore", name, { source: { backupName }, clusterTemplate });
    await eventually(async () => {
      const { status } = await this.#cluster.json<EtcdRestore>("get", "etcdrestore", name);
      if (status?.phase !== "Completed") throw new Error(`the restore is not Completed: ${JSON.stringify(status)}`);
    }, RESTORED_MS);
    const restored = new UserCluster(this.#cluster.namespace, clusterName);
    await restored.untilReady();
    return restored;
  }
}

const run = promisify(execFile);

/** Restores the snapshot with etcd's own tools into a single member, and reads these keys from it. */
export async function restored(file: string, keys: readonly string[]): Promise<Record<string, string>> {
  const bin = dirname(mainBinary(`etcd-${DEFAULT_VERSION}` as never));
  const folder = mkdtempSync(join(tmpdir(), "restored-"));
  const data = join(folder, "data");
  try {
    await run(join(bin, "etcdutl"), ["snapshot", "restore", file, "--data-dir", data]);
    const [client, peer] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${port}`);
    const flags = [`--data-dir=${data}`, `--listen-client-urls=${client}`, `--advertise-client-urls=${client}`, `--listen-peer-urls=${peer}`, "--log-level=error"]; // biome-ignore format: a list
    const etcd = spawn(join(bin, "etcd"), flags, { stdio: "ignore" });
    const ended = new Promise((done) => etcd.once("close", done));
    try {
      return Object.fromEntries(
        await Promise.all(
          keys.map(async (key) => {
            const args = [`--endpoints=${client}`, "get", key, "--print-value-only"];
            const { stdout } = await eventually(() => run(join(bin, "etcdctl"), args), 30_000);
            return [key, stdout.trim()] as const;
          }),
        ),
      );
    } finally {
      etcd.kill("SIGKILL");
      await ended;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
