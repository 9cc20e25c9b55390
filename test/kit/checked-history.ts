import { expect } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { ArchivedHistory } from "#kit/archived-history.ts";
import type { ByClientSecret } from "#kit/client-secret.ts";
import { eventually, type UserCluster } from "#kit/e2e.ts";
import { EtcdctlClient } from "#kit/etcdctl-client.ts";
import { expectNobodyFailed, expectPromised, LoadedCluster, type LoadedOptions } from "#kit/loaded-cluster.ts";
import { inPlaintext, type Reach } from "#kit/reach.ts";
import { asRoot } from "#kit/root-login.ts";
import { UserBackups } from "#kit/user-backups.ts";

// What is a checked history?
//   A cluster to which much happens that nobody is to notice. Clients write and read without pause: half of them keep their connections, the others
//   make one for each request; an application runs etcdctl, and watches. Each reads what it is given again and again. What is under way when a member restarts
//   may be cut off, and is asked for once more; no request fails twice, nobody is refused, and one copy of each key explains all that they saw.
//   A schedule archives every change meanwhile.

/** Handshakes cost more than requests: as many as one of these clients makes in this time, in milliseconds. */
const EVERY_MS = 200;
/** A snapshot is stored, and restored into a member that is thrown away, on a busy machine, in milliseconds. */
export const VERIFIED_MS = 300_000;

/** A cluster with such clients and an archive, until it is disposed of. */
export class CheckedHistory implements AsyncDisposable {
  readonly cluster: LoadedCluster;
  readonly archive: ArchivedHistory;
  readonly backups: UserBackups;
  readonly #etcdctl: EtcdctlClient;
  readonly #belongings: AsyncDisposableStack;
  /** Who the members are, which nothing of this changes. */
  readonly #ids: readonly (string | undefined)[];
  /** What applications are given. */
  #given: ByClientSecret | undefined;
  /** The latest backup that was verified, called after what was written before it. */
  #verified = "";

  /** @param reachedBy what the applications are given at first; without it, they connect in plain text */
  static async start(
    prefix: string,
    {
      reachedBy,
      ...options
    }: Omit<LoadedOptions, "reachedBy"> & { reachedBy?: (cluster: UserCluster) => Promise<ByClientSecret> } = {},
  ): Promise<CheckedHistory> {
    await using belongings = new AsyncDisposableStack();
    let given: ByClientSecret | undefined;
    const reached = reachedBy && {
      reachedBy: async (user: UserCluster) => {
        given = await reachedBy(user);
        return given;
      },
    };
    const load = { again: "once", anew: true, everyMs: EVERY_MS } as const;
    const cluster = belongings.use(await LoadedCluster.start(prefix, { ...options, ...reached, load }));
    const etcdctl = belongings.use(await EtcdctlClient.start(given ?? inPlaintext(cluster)));
    const archive = await ArchivedHistory.start(cluster);
    return new CheckedHistory({ cluster, etcdctl, archive, given }, await idsOf(cluster), belongings.move());
  }

  private constructor(
    parts: {
      readonly cluster: LoadedCluster;
      readonly etcdctl: EtcdctlClient;
      readonly archive: ArchivedHistory;
      readonly given: ByClientSecret | undefined;
    },
    ids: readonly (string | undefined)[],
    belongings: AsyncDisposableStack,
  ) {
    this.cluster = parts.cluster;
    this.archive = parts.archive;
    this.backups = new UserBackups(parts.cluster);
    this.#etcdctl = parts.etcdctl;
    this.#given = parts.given;
    this.#ids = ids;
    this.#belongings = belongings;
  }

  /** How many certificates the applications have been given so far, in the Secret that they read by now. */
  get certificates(): number {
    return this.#given?.certificates ?? 0;
  }

  /** From now on all of them reach the cluster so. @param reach is disposed of with all of this */
  async turnTo(reach: Reach | ByClientSecret): Promise<void> {
    const before = this.#given;
    this.#given = Symbol.asyncDispose in reach ? reach : undefined;
    this.cluster.load.turnTo(reach);
    this.#etcdctl.turnTo(reach);
    await before?.[Symbol.asyncDispose]();
  }

  /** Does something, and asks that nobody has noticed more than a new connection. */
  async unnoticed(what: string, work: () => Promise<void>): Promise<void> {
    const felt = await this.cluster.feltDuring(what, async () => {
      await work();
      await this.cluster.untilWhole(3);
    });
    expectPromised(felt, 0);
    expect(felt.answeredReads).toBeGreaterThan(0);
    await this.#etcdctl.expectServed();
    expect(await idsOf(this.cluster)).toEqual(this.#ids);
  }

  /** Waits until the cluster has seen its spec, and says so. */
  async until(is: (found: EtcdCluster) => boolean, deadlineMs: number): Promise<void> {
    await eventually(async () => {
      const found = await this.cluster.get();
      const isCurrent = found.status?.observedGeneration === found.metadata.generation;
      expect(isCurrent && is(found), JSON.stringify(found.status)).toBe(true);
    }, deadlineMs);
  }

  /** What has been written by now is backed up, and the backup is verified. @param marker what was written last */
  async expectVerified(marker: string): Promise<void> {
    const source = { clusterName: this.cluster.name };
    await this.backups.backUp(marker, { source, destination: { volume: { claimName: "backups" } }, verify: true });
    await this.backups.until(marker, "Completed", VERIFIED_MS);
    await this.backups.untilReason(marker, "Verified", "Verified", VERIFIED_MS);
    this.#verified = marker;
  }

  /** Of the latest backup that was verified a cluster like this is made, and has what was written before. @param spec of that one */
  async expectRestored(spec: object): Promise<void> {
    const marker = this.#verified;
    const restored = await this.backups.restoredAs("restored", spec, marker);
    await restored.untilCondition("TLSReady", "True", "CertificatesValid");
    await restored.untilCondition("AuthReady", "True", "AuthEnabled", 120_000);
    // Root's password comes to be that of the new Secret a moment after users are asked for.
    await eventually(async () => {
      const login = await asRoot(restored);
      const read = await restored.etcdctl("restored-0", ...login, "get", marker, "--print-value-only");
      expect(read.trim()).toBe(marker);
    });
    const asNobody = restored.etcdctl("restored-0", "get", marker);
    await expect(asNobody).rejects.toThrow(/user name is empty|permission denied/);
  }

  /** Ends the clients: all the time nothing has failed, no acknowledged write is missing, the watch has told all, and all members have the same data. */
  async end(): Promise<void> {
    await this.#etcdctl.end();
    await this.cluster.end();
    expectNobodyFailed(this.cluster.load);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#given?.[Symbol.asyncDispose]();
    await this.#belongings.disposeAsync();
  }
}

async function idsOf(cluster: UserCluster): Promise<readonly (string | undefined)[]> {
  const { status } = await cluster.get();
  return [status?.identity?.clusterID, ...(status?.members?.map(({ id }) => id) ?? [])];
}

/** All members run what is asked for. */
export function isUpToDate({ status }: EtcdCluster): boolean {
  return (
    status?.update === undefined &&
    status?.conditions?.some(({ type, status: is }) => type === "UpToDate" && is === "True") === true
  );
}
