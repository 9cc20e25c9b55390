import { expect } from "vitest";
import type { EtcdCluster, EtcdClusterSpec } from "#api/v1beta1/cluster.ts";
import type { ByClientSecret } from "#kit/e2e/client-secret.ts";
import { eventually, type UserCluster, type Written } from "#kit/e2e/e2e.ts";
import { expectNobodyFailed, expectPromised, LoadedCluster, type LoadedOptions } from "#kit/e2e/loaded-cluster.ts";
import { inPlaintext, type Reach } from "#kit/e2e/reach.ts";
import { UserBackups } from "#kit/e2e/user-backups.ts";
import { ArchivedHistory } from "./archived-history.ts";
import { EtcdctlClient } from "./etcdctl-client.ts";
import { asRoot } from "./root-login.ts";

// What is a checked history?
//
// A cluster with changes that its clients must not notice. Clients write and read without pause. Half of them keep
// their connections, the others connect for each request. An application runs etcdctl, and watches. Each client reads
// its Secret again and again.
//
// A restart of a member may cut off requests in flight, which the client repeats once. No request fails twice, none is
// refused, and a single copy of each key explains everything that clients saw. A schedule archives every change at the
// same time.

/** Handshakes cost more than requests; each client makes one request in this time, in milliseconds. */
const EVERY_MS = 200;
/** Time for a snapshot to be stored, and restored into a temporary member, on a busy machine, in milliseconds. */
export const VERIFIED_MS = 300_000;

/** A cluster with such clients and an archive, until it is disposed of. */
export class CheckedHistory implements AsyncDisposable {
  readonly cluster: LoadedCluster;
  readonly archive: ArchivedHistory;
  readonly backups: UserBackups;
  readonly #etcdctl: EtcdctlClient;
  readonly #belongings: AsyncDisposableStack;
  /** IDs of the cluster and its members, which must not change. */
  readonly #ids: readonly (string | undefined)[];
  /** The Secret that applications read. */
  #given: ByClientSecret | undefined;
  /** The latest verified backup, named after the key written before it. */
  #verified = "";

  /** @param reachedBy the Secret that applications read at first; without it, they connect in plaintext */
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
    const load = { again: "once", reconnects: true, everyMs: EVERY_MS } as const;
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

  /** How many certificates the applications have received so far in their current Secret. */
  get certificates(): number {
    return this.#given?.certificates ?? 0;
  }

  /**
   * Lets all clients connect in another way from now on.
   * @param reach is disposed of with this object
   */
  async turnTo(reach: Reach | ByClientSecret): Promise<void> {
    const before = this.#given;
    this.#given = Symbol.asyncDispose in reach ? reach : undefined;
    this.cluster.load.turnTo(reach);
    this.#etcdctl.turnTo(reach);
    await before?.[Symbol.asyncDispose]();
  }

  /** Runs `work`, and checks that no client noticed more than a new connection. */
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

  /** Waits until the status is of the current spec, and `is` holds. */
  async until(is: (found: EtcdCluster) => boolean, deadlineMs: number): Promise<void> {
    await eventually(async () => {
      const found = await this.cluster.get();
      const isCurrent = found.status?.observedGeneration === found.metadata.generation;
      expect(isCurrent && is(found), JSON.stringify(found.status)).toBe(true);
    }, deadlineMs);
  }

  /**
   * Backs up everything written so far, and verifies the backup.
   * @param marker the last written key
   */
  async expectVerified(marker: string): Promise<void> {
    const source = { cluster: { name: this.cluster.name } };
    await this.backups.backUp(marker, {
      source,
      destination: { volume: { claimName: "backups" } },
      verification: { mode: "Restore" },
    });
    await this.backups.until(marker, "Completed", VERIFIED_MS);
    await this.backups.untilReason(marker, "Verified", "Verified", VERIFIED_MS);
    this.#verified = marker;
  }

  /**
   * Restores the latest verified backup into a cluster, and checks that it has the key written before.
   * @param spec of the restored cluster
   */
  async expectRestored(spec: Written<EtcdClusterSpec>): Promise<void> {
    const marker = this.#verified;
    const restored = await this.backups.restoredAs("restored", spec, marker);
    await restored.untilCondition("TLSReady", "True", "CertificatesValid");
    await restored.untilCondition("AuthReady", "True", "AuthEnabled", 120_000);
    // The password of the new root Secret works a moment after authentication is enabled.
    await eventually(async () => {
      const login = await asRoot(restored);
      const read = await restored.etcdctl("restored-0", ...login, "get", marker, "--print-value-only");
      expect(read.trim()).toBe(marker);
    });
    const withoutLogin = restored.etcdctl("restored-0", "get", marker);
    await expect(withoutLogin).rejects.toThrow(/user name is empty|permission denied/);
  }

  /**
   * Ends the clients and checks: no request failed, no acknowledged write is missing, the watch is complete, and all
   * members have the same data.
   */
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

/** Whether all members run with the requested spec. */
export function isUpToDate({ status }: EtcdCluster): boolean {
  return (
    status?.update === undefined &&
    status?.conditions?.some(({ type, status: is }) => type === "UpToDate" && is === "True") === true
  );
}
