import { type CallSources, EtcdCalls, type Question, textOf } from "#access/calls.ts";
import { clusterIdOf } from "#access/place.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { knowIdentity } from "#certificates/know-identity.ts";
import type { AuthStatus, Permission } from "#etcd/auth.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import type { KubeClient } from "#kube/client.ts";

// How is etcd asked so rarely?
//   It counts the changes of its users, roles and passwords. One question in a while tells that number, for all objects of a cluster; as long
//   as it is the one that is expected, what was asked before still holds, whoever asked it. Our own changes are counted along.
// What if two passes ask at the same time?
//   The question for the number is asked once for both. What is answered to other questions is kept only if nothing was forgotten meanwhile.
// What if a change fails?
//   What it was about is asked anew, and the number. If etcd has counted nothing, all else still holds, passwords above all: to compare one takes
//   etcd a tenth of a second of its processor (bcrypt with cost 10), so those of a hundred users take it ten seconds.

/** How old the number of changes may be, in milliseconds: so late at most drift is seen, and a little more. */
const FRESH_MS = 4 * 60_000;
/** What nobody has asked about for so long is forgotten, in milliseconds: the cluster is gone, or its roles and users are. */
const KEPT_MS = 60 * 60_000;

export interface AccessSources extends CallSources {
  readonly identities: Keyring;
  readonly kube: Pick<KubeClient, "find">;
  readonly clock: Clock;
  /** Ends the process: a question that several passes wait for is no one pass's to end. */
  readonly stop: AbortSignal;
}

/** Whether it is asked again if what has not been there is there by now: before somebody takes the name, and only then. */
export type Absence = "known" | "asked";

/** What etcd says of a password: it is the user's; it is not; the user was made without one, and cannot get one. */
export type PasswordWord = "fits" | "differs" | "none";

interface Memory {
  readonly clusterID: string;
  /** What the EtcdCluster says of auth. */
  readonly told: string;
  readonly status: AuthStatus;
  /** Until when the number counts: it gets old, and is asked again when a change has failed. */
  readonly untilMs: number;
  /** When the number was asked; the same object until it is asked again. */
  readonly asked: { readonly atMs: number };
  readonly users: Map<string, readonly string[] | undefined>;
  readonly roles: Map<string, readonly Permission[] | undefined>;
  /** The Secret, and its version, whose password the user has. */
  readonly passwords: Map<string, string>;
}

/** What was asked of the etcd of each cluster about its users and roles. A cache: a process that starts begins with nothing. */
export class AccessReads {
  readonly #sources: AccessSources;
  readonly #calls: EtcdCalls;
  readonly #known = new Map<string, Memory>();
  readonly #asking = new Map<string, Promise<Observed<Memory>>>();

  constructor(sources: AccessSources) {
    this.#sources = sources;
    this.#calls = new EtcdCalls(sources);
  }

  /** Whether etcd can be asked, and whether users must log in there. @throws OperatorError Cancelled */
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
   * Whether the user has the password. Only while auth is enabled does etcd tell that.
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
   * Changes one thing.
   * @param forgets what of it is out of date then @param grants the password that a user has then, by the Secret and version that hold it
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
        // What has failed may have happened, or what was known of it is not so: that is asked anew, and whether etcd has counted anything.
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
      facts.set(name, answer.value); // One that was replaced meanwhile is asked by nobody.
    }
    const fact = facts.get(name);
    return fact === undefined ? absent : present(fact);
  }

  async #memory(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<Memory>> {
    const text = textOf(cluster);
    const known = this.#known.get(text);
    const nowMs = this.#sources.clock.monotonicMs();
    if (known !== undefined && isOf(known, cluster) && nowMs < known.untilMs) return present(known);
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
    // To be enabled counts as no change. Before it nobody could tell whether a password that was sent came to be the user's.
    const isToldNow = isSame && !before.status.enabled && status.value.enabled;
    const atMs = this.#sources.clock.monotonicMs();
    const memory = {
      ...facts,
      passwords: isToldNow ? new Map<string, string>() : facts.passwords,
      clusterID: clusterIdOf(cluster),
      told: toldOf(cluster),
      status: status.value,
      untilMs: atMs + FRESH_MS,
      asked: { atMs },
    };
    for (const [other, { asked }] of this.#known) if (atMs - asked.atMs >= KEPT_MS) this.#known.delete(other);
    this.#known.set(text, memory);
    return present(memory);
  }
}

/** What others may wait for, too. @throws OperatorError Cancelled when this one is stopped */
async function waitedFor<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new OperatorError("Cancelled", "stopped while the answer was waited for"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([answer, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function toldOf({ status }: EtcdCluster): string {
  // What people have made beside it changes nothing of how etcd is asked.
  return JSON.stringify(status?.auth === undefined ? null : { ...status.auth, unmanaged: undefined });
}

/** Whether it was said of this very etcd, and of what the cluster says of itself by now. */
function isOf({ clusterID, told }: Memory, cluster: EtcdCluster): boolean {
  return clusterID === clusterIdOf(cluster) && told === toldOf(cluster);
}

/** What a change is about. */
interface Changed {
  readonly user?: string;
  readonly role?: string;
}

/** What still holds after it. The roles of users go with a role. */
function changed<T extends Pick<Memory, "users" | "roles" | "passwords">>(memory: T, { user, role }: Changed): T {
  const users = role === undefined ? without(memory.users, user) : new Map();
  return { ...memory, users, roles: without(memory.roles, role), passwords: without(memory.passwords, user) };
}

function without<T>(facts: Map<string, T>, name: string | undefined): Map<string, T> {
  return new Map([...facts].filter(([each]) => each !== name));
}
