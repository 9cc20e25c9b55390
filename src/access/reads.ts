import { CLIENT_PORT } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { type Backoff, delayMs } from "#base/backoff.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { absent, type Observed, present, unknown } from "#base/observed.ts";
import { endpointOf } from "#certificates/dial.ts";
import type { Keyring } from "#certificates/keyring.ts";
import { knowIdentity } from "#certificates/know-identity.ts";
import type { AuthStatus, EtcdAuth, Permission } from "#etcd/auth.ts";
import type { CallOptions } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { type EtcdRefusal, refusalOf } from "#etcd/error.ts";
import { clusterIdFromHex } from "#etcd/types.ts";
import type { KubeClient } from "#kube/client.ts";
import type { Pod } from "#kube/kinds.ts";
import { isReady } from "#kube/pod.ts";
import type { CacheView } from "#runtime/controller.ts";

// How is etcd asked so rarely?
//   It counts the changes of its users, roles and passwords. One question in a while tells that number, for all objects of a cluster; as long
//   as it is the one that is expected, what was asked before still holds, whoever asked it. Our own changes are counted along.
// What if two passes ask at the same time?
//   The question for the number is asked once for both. What is answered to other questions is kept only if nothing was forgotten meanwhile.
// What if a cluster is silent?
//   Its objects are told the last failure for a while, without anybody asking, so that they do not hold up those of other clusters.

/** Roles, users and pods by their EtcdCluster: `namespace/name` of it. */
export const ETCD_INDEX = "etcd";

/** How old the number of changes may be, in milliseconds: so late at most drift is seen, and a little more. */
const FRESH_MS = 4 * 60_000;
/** How many members are asked before none can be. */
const ATTEMPTS = 2;
/** How long a cluster that was silent is left alone. */
const PAUSE: Backoff = { firstMs: 2_000, maxMs: 60_000, factor: 2, jitter: 0 };

export interface AccessSources {
  readonly pods: CacheView<Pod>;
  readonly etcd: EtcdAuth;
  readonly identities: Keyring;
  readonly kube: Pick<KubeClient, "find">;
  readonly clock: Clock;
}

/** What etcd says of a password: it is the user's; it is not; the user was made without one, and cannot get one. */
export type PasswordWord = "fits" | "differs" | "none";

interface Memory {
  readonly clusterID: string;
  /** What the EtcdCluster says of auth. */
  readonly told: string;
  readonly status: AuthStatus;
  readonly atMs: number;
  readonly users: Map<string, readonly string[] | undefined>;
  readonly roles: Map<string, readonly Permission[] | undefined>;
  /** The Secret, and its version, whose password the user has. */
  readonly passwords: Map<string, string>;
}

interface Failure {
  readonly why: string;
  readonly tries: number;
  readonly untilMs: number;
  readonly pods: string;
}

/** What was asked of the etcd of each cluster about its users and roles. A cache: a process that starts begins with nothing. */
export class AccessReads {
  readonly #sources: AccessSources;
  readonly #known = new Map<string, Memory>();
  readonly #failures = new Map<string, Failure>();
  readonly #asking = new Map<string, Promise<Observed<Memory>>>();

  constructor(sources: AccessSources) {
    this.#sources = sources;
  }

  /** Whether etcd can be asked, and whether users must log in there. @throws OperatorError Cancelled */
  async look(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<{ readonly enabled: boolean }>> {
    const memory = await this.#memory(cluster, signal);
    return memory.is === "present" ? present({ enabled: memory.value.status.enabled }) : memory;
  }

  /** The permissions of a role. @throws OperatorError Cancelled */
  async role(cluster: EtcdCluster, role: string, signal: AbortSignal): Promise<Observed<readonly Permission[]>> {
    return await this.#fact(cluster, "roles", role, "RoleNotFound", signal, (at, options) =>
      this.#sources.etcd.roleGet(at, role, options),
    );
  }

  /** The roles of a user. @throws OperatorError Cancelled */
  async user(cluster: EtcdCluster, user: string, signal: AbortSignal): Promise<Observed<readonly string[]>> {
    return await this.#fact(cluster, "users", user, "UserNotFound", signal, (at, options) =>
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
    const answer = await this.#ask(cluster, signal, async (at, options): Promise<PasswordWord> => {
      try {
        await this.#sources.etcd.authenticate(at, user, password, options);
        return "fits";
      } catch (thrown) {
        if (refusalOf(thrown) === "AuthFailed") return "differs";
        if (hasCode(thrown, "EtcdRejected") && thrown.message.includes("no password user")) return "none";
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
    forgets: { readonly user?: string; readonly role?: string },
    send: (etcd: EtcdAuth, at: Endpoint, options: CallOptions) => Promise<void>,
    grants?: { readonly user: string; readonly from: string },
  ): Promise<void> {
    const text = textOf(cluster);
    const [at, why] = this.#endpoints(cluster);
    const [first] = at;
    if (first === undefined) throw new OperatorError("EtcdUnavailable", why);
    const memory = this.#known.get(text);
    try {
      await send(this.#sources.etcd, first, this.#options(cluster, signal));
    } catch (thrown) {
      this.#known.delete(text); // It may have happened, or what was known is not so.
      throw thrown;
    }
    if (memory === undefined || this.#known.get(text) !== memory) return;
    const { users, roles, passwords, status } = memory;
    // The roles of users go with a role.
    const next: Memory = {
      ...memory,
      status: { ...status, revision: status.revision + 1 },
      users: forgets.role === undefined ? without(users, forgets.user) : new Map(),
      roles: without(roles, forgets.role),
      passwords: without(passwords, forgets.user),
    };
    if (grants !== undefined) next.passwords.set(grants.user, grants.from);
    this.#known.set(text, next);
  }

  /** What etcd was asked is out of date. */
  forget(cluster: { readonly namespace: string; readonly name: string }): void {
    const text = `${cluster.namespace}/${cluster.name}`;
    this.#known.delete(text);
    this.#failures.delete(text);
  }

  async #fact<T>(
    cluster: EtcdCluster,
    kind: "users" | "roles",
    name: string,
    missing: EtcdRefusal,
    signal: AbortSignal,
    ask: (at: Endpoint, options: CallOptions) => Promise<T>,
  ): Promise<Observed<T>> {
    const memory = await this.#memory(cluster, signal);
    if (memory.is !== "present") return memory;
    const facts = memory.value[kind] as Map<string, T | undefined>;
    if (!facts.has(name)) {
      const answer = await this.#ask(cluster, signal, async (at, options) => {
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
    if (known !== undefined && isOf(known, cluster) && nowMs - known.atMs < FRESH_MS) return present(known);
    const failure = this.#failures.get(text);
    const isResting = failure !== undefined && failure.pods === this.#podsText(cluster);
    const asking = this.#asking.get(text);
    if (isResting && (nowMs < failure.untilMs || asking !== undefined)) return unknown(failure.why);
    const answer = asking ?? this.#askStatus(cluster, signal).finally(() => this.#asking.delete(text));
    this.#asking.set(text, answer);
    return await answer;
  }

  async #askStatus(cluster: EtcdCluster, signal: AbortSignal): Promise<Observed<Memory>> {
    const text = textOf(cluster);
    await knowIdentity(this.#sources.kube, this.#sources.identities, cluster, signal);
    const status = await this.#ask(cluster, signal, (at, options) => this.#sources.etcd.authStatus(at, options));
    if (status.is !== "present") return status;
    const before = this.#known.get(text);
    const isSame =
      before !== undefined &&
      before.clusterID === clusterIdOf(cluster) &&
      before.status.revision === status.value.revision;
    const facts = isSame ? before : { users: new Map(), roles: new Map(), passwords: new Map() };
    const atMs = this.#sources.clock.monotonicMs();
    const memory = { ...facts, clusterID: clusterIdOf(cluster), told: toldOf(cluster), status: status.value, atMs };
    this.#known.set(text, memory);
    return present(memory);
  }

  /** Of the members whose pods are ready, one that answers. */
  async #ask<T>(
    cluster: EtcdCluster,
    signal: AbortSignal,
    question: (at: Endpoint, options: CallOptions) => Promise<T>,
  ): Promise<Observed<T>> {
    const text = textOf(cluster);
    let [endpoints, why] = this.#endpoints(cluster);
    for (const at of endpoints.slice(0, ATTEMPTS)) {
      try {
        const answer = await question(at, this.#options(cluster, signal));
        this.#failures.delete(text);
        return present(answer);
      } catch (thrown) {
        if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled", "Bug")) throw thrown;
        why = thrown.message;
      }
    }
    const tries = (this.#failures.get(text)?.tries ?? 0) + 1;
    const untilMs = this.#sources.clock.monotonicMs() + delayMs(PAUSE, tries - 1, 0);
    this.#failures.set(text, { why, tries, untilMs, pods: this.#podsText(cluster) });
    return unknown(why);
  }

  /** Where members can be asked, and why there is nobody else. */
  #endpoints(cluster: EtcdCluster): [readonly Endpoint[], string] {
    const seen = this.#podsOf(cluster)
      .filter(isReady)
      .map((pod) => endpointOf(pod, this.#sources.identities));
    const dark = seen.find((each) => each.is === "unknown");
    const endpoints = seen.flatMap((each) => (each.is === "present" ? [each.value] : []));
    return [endpoints, dark?.is === "unknown" ? dark.why : "no member has a pod that is ready"];
  }

  #podsOf(cluster: EtcdCluster): readonly Pod[] {
    return this.#sources.pods.byIndex(ETCD_INDEX, textOf(cluster));
  }

  /** Another text: there is news of a member, and it may answer. */
  #podsText(cluster: EtcdCluster): string {
    return this.#podsOf(cluster)
      .map((pod) => `${pod.metadata.uid} ${pod.status?.podIP}:${CLIENT_PORT} ${isReady(pod)}`)
      .toSorted()
      .join(" ");
  }

  #options(cluster: EtcdCluster, signal: AbortSignal): CallOptions {
    return { signal, expectedClusterId: clusterIdFromHex(clusterIdOf(cluster)) };
  }
}

function textOf({ metadata }: EtcdCluster): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function clusterIdOf({ status }: EtcdCluster): string {
  return status?.identity?.clusterID ?? "";
}

function toldOf({ status }: EtcdCluster): string {
  return JSON.stringify(status?.auth ?? null);
}

/** Whether it was said of this very etcd, and of what the cluster says of itself by now. */
function isOf({ clusterID, told }: Memory, cluster: EtcdCluster): boolean {
  return clusterID === clusterIdOf(cluster) && told === toldOf(cluster);
}

function without<T>(facts: Map<string, T>, name: string | undefined): Map<string, T> {
  return new Map([...facts].filter(([each]) => each !== name));
}
