import { type CallSources, EtcdCalls, type Question, textOf } from "#access/calls.ts";
import { clusterIdOf } from "#access/place.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { unlessAborted } from "#base/abort.ts";
import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { knowIdentity } from "#certificates/know-identity.ts";
import type { AuthStatus, Permission } from "#etcd/auth.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import type { KubeClient } from "#kube/client.ts";

// Why are so few requests needed?
//   etcd counts the changes of its users, roles and passwords (auth revision). One request from time to time reads that
//   number for all objects of a cluster. As long as it is the expected one, all cached answers still hold. The
//   operator's own changes are counted in.
// What if two passes ask at the same time?
//   They share one request for the number. Other answers are cached only if nothing was dropped in between.
// What if a change fails?
//   The changed name and the number are read again. If etcd has counted no change, everything else still holds, above
//   all passwords. Checking one takes etcd 0.1 s of CPU time (bcrypt with cost 10), so those of a hundred users take
//   ten seconds.

/** Age in milliseconds up to which the auth revision is used: drift is detected shortly after. */
const FRESH_MS = 4 * 60_000;
/**
 * Age in milliseconds after which the answers of a cluster are dropped: the cluster, or its roles and users, no longer
 * exist.
 */
const KEPT_MS = 60 * 60_000;

export interface AccessSources extends CallSources {
  readonly identities: Keyring;
  readonly kube: Pick<KubeClient, "find">;
  readonly clock: Clock;
  /** Aborted when the process ends. A request shared by several passes is not aborted with one of them. */
  readonly stop: AbortSignal;
}

/** Whether a cached absence counts ("known") or is read again ("asked"), which is needed before a name is taken. */
export type Absence = "known" | "asked";

/** Result of a password check: it matches, it differs, or the user was created without one and cannot get one. */
export type PasswordWord = "fits" | "differs" | "none";

interface Memory {
  readonly clusterID: string;
  /** The auth part of the EtcdCluster's status. */
  readonly authStatus: string;
  readonly status: AuthStatus;
  /** When the auth revision has to be read again: when it is old, or at once after a failed change. */
  readonly untilMs: number;
  /** When the auth revision was read; the same object until it is read again. */
  readonly asked: { readonly atMs: number };
  readonly users: Map<string, readonly string[] | undefined>;
  readonly roles: Map<string, readonly Permission[] | undefined>;
  /** Uid and version of the Secret with the user's password. */
  readonly passwords: Map<string, string>;
}

/** Cache of the users and roles in the etcd of each cluster, empty when the process starts. */
export class AccessReads {
  readonly #sources: AccessSources;
  readonly #calls: EtcdCalls;
  readonly #known = new Map<string, Memory>();
  readonly #asking = new Map<string, Promise<Observed<Memory>>>();

  constructor(sources: AccessSources) {
    this.#sources = sources;
    this.#calls = new EtcdCalls(sources);
  }

  /** Whether auth is enabled in etcd; unknown when etcd does not answer. @throws OperatorError Cancelled */
  async look(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<{ readonly enabled: boolean }>> {
    const memory = await this.#memory(cluster, signal);
    return memory.is === "present" ? present({ enabled: memory.value.status.enabled }) : memory;
  }

  /** The permissions of a role. @throws OperatorError Cancelled */
  async role(
    cluster: EtcdCluster,
    role: string,
    signal: AbortSignal,
    absence: Absence = "known",
  ): Promise<Observed<readonly Permission[]>> {
    return await this.#fact(cluster, ["roles", role, absence], "RoleNotFound", signal, (at, options) =>
      this.#sources.etcd.roleGet(at, role, options),
    );
  }

  /** The roles of a user. @throws OperatorError Cancelled */
  async user(
    cluster: EtcdCluster,
    user: string,
    signal: AbortSignal,
    absence: Absence = "known",
  ): Promise<Observed<readonly string[]>> {
    return await this.#fact(cluster, ["users", user, absence], "UserNotFound", signal, (at, options) =>
      this.#sources.etcd.userGet(at, user, options),
    );
  }

  /**
   * Whether the user has the password. etcd can check it only while auth is enabled.
   * @param from the Secret, and its version, that holds the password
   * @throws OperatorError Cancelled
   */
  async password(
    cluster: EtcdCluster,
    user: string,
    from: string,
    read: () => Promise<string | undefined>,
    signal: AbortSignal,
  ): Promise<Observed<PasswordWord>> {
    const memory = await this.#memory(cluster, signal);
    if (memory.is !== "present") return memory;
    if (memory.value.passwords.get(user) === from) return present("fits");
    if (!memory.value.status.enabled) return absent;
    const password = await read();
    if (password === undefined) return unknown("its Secret has changed, or could not be read");
    const answer = await this.#calls.ask(cluster, signal, async (at, options): Promise<PasswordWord> => {
      try {
        await this.#sources.etcd.authenticate(at, user, password, options);
        return "fits";
      } catch (thrown) {
        const refusal = refusalOf(thrown);
        if (refusal === "AuthFailed") return "differs";
        if (refusal === "NoPasswordUser") return "none";
        throw thrown;
      }
    });
    const isCurrent = this.#known.get(textOf(cluster)) === memory.value;
    if (answer.is === "present" && answer.value === "fits" && isCurrent) memory.value.passwords.set(user, from);
    return answer;
  }

  /**
   * Sends one change.
   * @param forgets what of it is out of date then @param grants the password that a user has then, by the Secret and
   * version that hold it
   * @throws OperatorError as the client does; EtcdUnavailable when no member can be asked
   */
  async change(
    cluster: EtcdCluster,
    signal: AbortSignal,
    forgets: Changed,
    send: Parameters<EtcdCalls["change"]>[2],
    grants?: { readonly user: string; readonly from: string },
  ): Promise<void> {
    const text = textOf(cluster);
    const asked = this.#known.get(text)?.asked;
    let isCounted = false;
    try {
      await this.#calls.change(cluster, signal, send);
      isCounted = true;
    } finally {
      const last = this.#known.get(text);
      if (last !== undefined) {
        // A failed change may have been applied, or cached answers were wrong: the changed name and the auth revision
        // are read again.
        const isExpected = isCounted && last.asked === asked;
        const { revision } = last.status;
        const status = { ...last.status, revision: isExpected ? revision + 1 : revision };
        const untilMs = isExpected ? last.untilMs : Number.NEGATIVE_INFINITY;
        const next = { ...changed(last, forgets), status, untilMs };
        if (isExpected && grants !== undefined) next.passwords.set(grants.user, grants.from);
        this.#known.set(text, next);
      }
    }
  }

  async #fact<T>(
    cluster: EtcdCluster,
    [kind, name, absence]: readonly ["users" | "roles", string, Absence],
    missing: EtcdRefusal,
    signal: AbortSignal,
    ask: Question<T>,
  ): Promise<Observed<T>> {
    const memory = await this.#memory(cluster, signal);
    if (memory.is !== "present") return memory;
    const facts = memory.value[kind] as Map<string, T | undefined>;
    if (!facts.has(name) || (absence === "asked" && facts.get(name) === undefined)) {
      const answer = await this.#calls.ask(cluster, signal, async (at, options) => {
        try {
          return await ask(at, options);
        } catch (thrown) {
          if (refusalOf(thrown) === missing) return undefined;
          throw thrown;
        }
      });
      if (answer.is !== "present") return answer;
      facts.set(name, answer.value); // A memory that was replaced in between is no longer used.
    }
    const fact = facts.get(name);
    return fact === undefined ? absent : present(fact);
  }

  async #memory(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<Memory>> {
    const text = textOf(cluster);
    const known = this.#known.get(text);
    const nowMs = this.#sources.clock.monotonicMs();
    if (known !== undefined && isCurrent(known, cluster) && nowMs < known.untilMs) return present(known);
    const resting = this.#calls.whyResting(cluster);
    if (resting !== undefined) return unknown(resting);
    const asking = this.#asking.get(text);
    const answer = asking ?? this.#askStatus(cluster, this.#sources.stop).finally(() => this.#asking.delete(text));
    this.#asking.set(text, answer);
    return await waitedFor(answer, signal);
  }

  async #askStatus(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<Memory>> {
    const text = textOf(cluster);
    await knowIdentity(this.#sources.kube, this.#sources.identities, cluster, signal);
    const status = await this.#calls.ask(cluster, signal, (at, options) => this.#sources.etcd.authStatus(at, options));
    if (status.is !== "present") return status;
    const before = this.#known.get(text);
    const isSame =
      before !== undefined &&
      before.clusterID === clusterIdOf(cluster) &&
      before.status.revision === status.value.revision;
    const facts = isSame ? before : { users: new Map(), roles: new Map(), passwords: new Map() };
    // Enabling auth does not change the revision. Before it, a password could not be checked, so that cached passwords
    // are dropped.
    const isEnabledNow = isSame && !before.status.enabled && status.value.enabled;
    const atMs = this.#sources.clock.monotonicMs();
    const memory = {
      ...facts,
      passwords: isEnabledNow ? new Map<string, string>() : facts.passwords,
      clusterID: clusterIdOf(cluster),
      authStatus: authStatusText(cluster),
      status: status.value,
      untilMs: atMs + FRESH_MS,
      asked: { atMs },
    };
    for (const [other, { asked }] of this.#known) if (atMs - asked.atMs >= KEPT_MS) this.#known.delete(other);
    this.#known.set(text, memory);
    return present(memory);
  }
}

/** Waits for a shared answer. @throws OperatorError Cancelled when this caller is stopped */
async function waitedFor<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = () => new OperatorError("Cancelled", "stopped while waiting for the answer");
  return await unlessAborted(answer, signal, stopped);
}

function authStatusText({ status }: EtcdCluster): string {
  // Users created by others do not affect how etcd is queried.
  return JSON.stringify(status?.auth === undefined ? null : { ...status.auth, unmanaged: undefined });
}

/** Whether the memory is of the cluster's current etcd and auth status. */
function isCurrent({ clusterID, authStatus }: Memory, cluster: EtcdCluster): boolean {
  return clusterID === clusterIdOf(cluster) && authStatus === authStatusText(cluster);
}

/** The user or role that a change affects. */
interface Changed {
  readonly user?: string;
  readonly role?: string;
}

/** The memory without the answers that the change outdates. A role's deletion also affects its users. */
function changed<T extends Pick<Memory, "users" | "roles" | "passwords">>(memory: T, { user, role }: Changed): T {
  const users = role === undefined ? without(memory.users, user) : new Map();
  return { ...memory, users, roles: without(memory.roles, role), passwords: without(memory.passwords, user) };
}

function without<T>(facts: Map<string, T>, name: string | undefined): Map<string, T> {
  return new Map([...facts].filter(([each]) => each !== name));
}
