import { isAuthWanted } from "#api/auth.ts";
import { ROOT, rootSecretName } from "#api/names.ts";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import type { Clock } from "#base/clock.ts";
import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import { commonNameIn } from "#certificates/common-name.ts";
import type { Identities } from "#certificates/dial.ts";
import { MINUTELY_MS } from "#cluster/observe/rest.ts";
import type { AuthStatus } from "#etcd/auth.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { refusalOf } from "#etcd/error.ts";
import type { KubeClient } from "#kube/client.ts";
import { SECRETS, type Secret } from "#kube/kinds.ts";
import { type Key, keyText } from "#runtime/controller.ts";
import { NameReads } from "./name-reads.ts";
import { passwordIn, rootSecretOf } from "./root-secret.ts";
import type { AuthState, RootSecret, SeenAuth } from "./seen.ts";
import type { HeldNames } from "./unmanaged.ts";

// Why is etcd queried so rarely?
//   Each query about users is an entry in its raft log, and a password check takes a tenth of a second of CPU. While
//   all is as desired, users are read once a minute, and the password is checked every ten minutes. While something is
//   to be done, with each observation. All names: when the auth revision has changed.

const PASSWORD_MS = 10 * 60_000;

const UNPROVED = { isRootsPassword: false };

interface Memory {
  /** The uid of the EtcdCluster. */
  readonly uid: string;
  readonly seen: ReadAuth;
  readonly atMs: number;
}

/** What was read from etcd and Secrets. */
type ReadAuth = Omit<SeenAuth, "holders">;

/** The version of the Secret that has root's password, and when that was checked. */
interface Proof {
  readonly version: string;
  readonly atMs: number;
}

/** What one answer of etcd contains. */
interface Answer {
  readonly state: Observed<AuthState>;
  /** The auth revision, which is known to users that may list names. */
  readonly revision?: number | undefined;
}

interface Addressee {
  readonly endpoint: Endpoint;
  readonly options: CallOptions;
}

export interface AuthClient {
  readonly kube: Pick<KubeClient, "find">;
  readonly etcd: Pick<EtcdClient, "authStatus" | "userGet" | "authenticate" | "userList" | "roleList">;
  readonly identities: Identities;
  readonly clock: Clock;
}

/** Answers of etcd about its users. A cache: a process starts without any. */
export class AuthReads {
  readonly #tools: AuthClient;
  readonly #known = new Map<string, Memory>();
  readonly #proofs = new Map<string, Proof>();
  readonly #names = new NameReads();

  constructor(tools: AuthClient) {
    this.#tools = tools;
  }

  /**
   * `undefined` when spec.auth was never set.
   * @param addressee the member to query; undefined when none answers @param next the operator's next user
   * @param held names in EtcdUsers and EtcdRoles
   * @throws OperatorError Cancelled
   */
  async look(
    cluster: EtcdCluster,
    addressee: Addressee | undefined,
    next: string | undefined,
    held: () => HeldNames,
    signal: AbortSignal,
  ): Promise<ReadAuth | undefined> {
    const { namespace, name, uid, deletionTimestamp } = cluster.metadata;
    const key = { namespace, name };
    const wanted = isAuthWanted(cluster.spec);
    if (deletionTimestamp !== undefined || (wanted === undefined && cluster.status?.auth === undefined)) {
      this.forget(key);
      return undefined;
    }
    const known = this.#known.get(keyText(key));
    // An EtcdCluster that was deleted and created again may be another etcd cluster.
    if (known !== undefined && known.uid !== uid) this.forget(key);
    const last = known?.uid === uid ? known : undefined;
    const { clock } = this.#tools;
    if (last?.seen.next === next && last && isCalm(cluster, last.seen) && clock.monotonicMs() - last.atMs < MINUTELY_MS)
      return last.seen;
    const seen = await this.#ask(cluster, addressee, next, held, signal);
    this.#known.set(keyText(key), { uid, seen, atMs: clock.monotonicMs() });
    return seen;
  }

  /** Drops the cached answers. */
  hasChanged({ namespace, name }: Key): void {
    this.#known.delete(keyText({ namespace, name }));
  }

  /** Records that the password of this Secret has just been set for root. */
  hasProved({ namespace, name }: Key, { version }: RootSecret): void {
    this.#proofs.set(keyText({ namespace, name }), { version, atMs: this.#tools.clock.monotonicMs() });
  }

  forget({ namespace, name }: Key): void {
    this.#known.delete(keyText({ namespace, name }));
    this.#proofs.delete(keyText({ namespace, name }));
    this.#names.forget({ namespace, name });
  }

  async #ask(
    cluster: EtcdCluster,
    addressee: Addressee | undefined,
    next: string | undefined,
    held: () => HeldNames,
    signal: AbortSignal,
  ): Promise<ReadAuth> {
    const { kube, identities } = this.#tools;
    const { namespace, name } = cluster.metadata;
    const ref = { namespace, name: rootSecretName(name) };
    const found = await kube.find(SECRETS, ref, { signal });
    const rootSecret: Observed<RootSecret> =
      found.is === "present" ? present(rootSecretOf(cluster, found.value)) : found;
    const user = commonNameIn(identities.identityOf({ namespace, name })?.cert ?? "");
    const secret = found.is === "present" ? found.value : undefined;
    const { state, revision } = await this.#state(cluster, { user, next }, secret, addressee);
    if (revision === undefined || addressee === undefined) return { user, next, rootSecret, state };
    const { endpoint, options } = addressee;
    const unmanaged = await this.#names.look(cluster, user, revision, held, async () => ({
      users: await this.#tools.etcd.userList(endpoint, options),
      roles: await this.#tools.etcd.roleList(endpoint, options),
    }));
    return { user, next, rootSecret, state, unmanaged };
  }

  async #state(
    cluster: EtcdCluster,
    { user, next }: Pick<ReadAuth, "user" | "next">,
    secret: Secret | undefined,
    addressee: Addressee | undefined,
  ): Promise<Answer> {
    if (addressee === undefined) return { state: unknown("no voter with a leader answers") };
    const { endpoint, options } = addressee;
    const { etcd } = this.#tools;
    try {
      const { enabled, revision } = await statusOf(etcd, endpoint, options);
      const operator = user ? await rolesOf(etcd, endpoint, user, options) : undefined;
      const mayAsk = !enabled || operator?.includes(ROOT) === true;
      const root = mayAsk ? await rolesOf(etcd, endpoint, ROOT, options) : undefined;
      const ahead = mayAsk && next && next !== user ? await rolesOf(etcd, endpoint, next, options) : undefined;
      const proof = root === undefined ? UNPROVED : await this.#proofOf(cluster, secret, enabled, addressee);
      const state = present({ enabled, operator, next: ahead, root, ...proof });
      return { state, revision: mayAsk ? revision : undefined };
    } catch (thrown) {
      if (!(thrown instanceof OperatorError) || hasCode(thrown, "Cancelled")) throw thrown;
      return { state: unknown(thrown.message) };
    }
  }

  async #proofOf(
    cluster: EtcdCluster,
    secret: Secret | undefined,
    enabled: boolean,
    { endpoint, options }: Addressee,
  ): Promise<Pick<AuthState, "isRootsPassword" | "isRootWithoutPassword">> {
    const { etcd, clock } = this.#tools;
    if (secret === undefined) return UNPROVED;
    const seen = rootSecretOf(cluster, secret);
    if (seen.trouble !== undefined) return UNPROVED;
    const proof = this.#proofs.get(keyText(cluster.metadata));
    const isProved = proof?.version === seen.version;
    // The password cannot be checked by a log-in while authentication is off: then the last one that the operator set
    // counts.
    if (!enabled || (isProved && clock.monotonicMs() - proof.atMs < PASSWORD_MS)) return { isRootsPassword: isProved };
    try {
      await etcd.authenticate(endpoint, ROOT, passwordIn(secret), options);
      this.hasProved(cluster.metadata, seen);
      return { isRootsPassword: true };
    } catch (thrown) {
      const refusal = refusalOf(thrown);
      if (refusal !== "AuthFailed" && refusal !== "NoPasswordUser") throw thrown;
      this.#proofs.delete(keyText(cluster.metadata));
      return refusal === "NoPasswordUser" ? { ...UNPROVED, isRootWithoutPassword: true } : UNPROVED;
    }
  }
}

/** etcd 3.5 and 3.6 report only to administrators whether authentication is on: a refusal is an answer too. */
async function statusOf(
  etcd: AuthClient["etcd"],
  endpoint: Endpoint,
  options: CallOptions,
): Promise<Pick<AuthStatus, "enabled"> & Partial<AuthStatus>> {
  try {
    return await etcd.authStatus(endpoint, options);
  } catch (thrown) {
    const refusal = refusalOf(thrown);
    if (refusal === "PermissionDenied" || refusal === "UserNotFound" || refusal === "UserEmpty")
      return { enabled: true };
    throw thrown;
  }
}

/** Any user may read its own roles. */
async function rolesOf(
  etcd: AuthClient["etcd"],
  endpoint: Endpoint,
  user: string,
  options: CallOptions,
): Promise<readonly string[] | undefined> {
  try {
    return await etcd.userGet(endpoint, user, options);
  } catch (thrown) {
    if (refusalOf(thrown) === "UserNotFound") return undefined;
    throw thrown;
  }
}

/** Whether nothing is to be done. */
function isCalm({ spec }: EtcdCluster, { user, next, state, rootSecret }: ReadAuth): boolean {
  if (state.is !== "present") return false;
  const { enabled, isRootsPassword } = state.value;
  const wanted = isAuthWanted(spec);
  if (wanted === undefined) return true;
  if (next !== undefined && next !== user && state.value.next?.includes(ROOT) !== true) return false;
  return enabled === wanted && (!wanted || (rootSecret.is === "present" && isRootsPassword));
}
