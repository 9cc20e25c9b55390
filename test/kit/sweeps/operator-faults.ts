import { appendFileSync } from "node:fs";
import type { EtcdClient } from "#etcd/client.ts";
import type { KubeConfig } from "#kube/config.ts";
import { type HttpAnswer, type HttpRequest, httpTransport, type Transport } from "#kube/transport.ts";
import type { Wires } from "../../../src/bin/world.ts";

// What is a write here? A request that changed something at the API server, or a change of etcd's membership or
// leadership.
//
// What is not?
// - Events: they inform people, and no decision uses them.
// - The lease: it belongs to no cluster; takeover.test.ts tests the death of its holder.
// - Refused requests: they changed nothing.
//
// Why one write at a time where a death is planned? So that "after this write" means that no later one is in flight.
// Passes run in parallel, but their writes do not depend on the order of unrelated writes.
//
// Why die after a write and never before one? The process has only memory. Dead right before a write therefore equals
// dead after the previous one.

/** A write that can be found in another run: `POST peers/my-etcd-0` or `MemberAdd`, and its count from 1. */
export interface Point {
  readonly write: string;
  readonly nth: number;
}

/** Faults of a test's operator; JSON in the environment. */
export interface Faults {
  /**
   * The only namespace that it sees, so that several operators can be tested in parallel, each with its own clusters.
   */
  readonly namespace?: string;
  /** Its user agent, which identifies it in the audit log. */
  readonly userAgent?: string;
  /**
   * Replaces `--reread-within`, in milliseconds: kubelets of a test update Secrets within seconds, so waiting longer is
   * useless.
   */
  readonly rereadWithinMs?: number;
  /** The file with one line for each write, written synchronously so that it survives the process. */
  readonly notes: string;
  /** SIGKILL ends the process right after this write, before any other code of it can run. */
  readonly dieAfter?: Point;
  /** An unhandled error is thrown right after this write; its caller never gets an answer. */
  readonly throwAfter?: Point & { readonly as: "exception" | "rejection" };
  /**
   * SIGSTOP freezes the process right after this write. Writes are not serialized then: one that waits for another
   * would be sent after waking.
   */
  readonly freezeAfter?: Point;
  /**
   * SIGSTOP freezes the process right before this write is sent: it is decided in time, and sent when the process
   * wakes.
   */
  readonly freezeBefore?: Point;
}

/** Environment variable that carries Faults. */
export const FAULTS = "OPERATOR_FAULTS";

export function faultyWires(faults: Faults): Wires {
  const writes = new Writes(faults);
  return { kube: (config) => faultyTransport(config, faults, writes), etcd: (client) => faultyEtcd(client, writes) };
}

/** Records writes, serializes them, and injects the faults. */
class Writes {
  readonly #faults: Faults;
  readonly #counts = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /**
   * Makes a write after the previous ones have ended.
   * @param isDone whether this answer means that something changed
   */
  async inTurn<T>(write: string, make: () => Promise<T>, isDone: (answer: T) => boolean): Promise<T> {
    const makeNow = async (): Promise<T> => {
      if (isAt(this.#faults.freezeBefore, write, this.#made(write) + 1)) process.kill(process.pid, "SIGSTOP");
      const answer = await make();
      if (isDone(answer)) this.#done(write);
      if (isAt(this.#faults.throwAfter, write, this.#made(write))) await thrown(this.#faults.throwAfter?.as);
      return answer;
    };
    if (this.#faults.dieAfter === undefined) return await makeNow();
    const turn = this.#last.then(makeNow);
    this.#last = turn.catch(() => undefined); // its caller handles the error; the next write continues
    return await turn;
  }

  #made(write: string): number {
    return this.#counts.get(write) ?? 0;
  }

  #done(write: string): void {
    const nth = this.#made(write) + 1;
    this.#counts.set(write, nth);
    const { notes, dieAfter, freezeAfter } = this.#faults;
    appendFileSync(notes, `${write}\n`);
    // A signal to oneself is delivered before kill(2) returns: no further line of JavaScript runs.
    if (isAt(dieAfter, write, nth)) process.kill(process.pid, "SIGKILL");
    if (isAt(freezeAfter, write, nth)) process.kill(process.pid, "SIGSTOP");
  }
}

/** Throws an unhandled error, and never settles. */
function thrown(as: "exception" | "rejection" | undefined): Promise<never> {
  const error = new Error("an unexpected failure");
  if (as === "rejection") void Promise.reject(error);
  else
    setImmediate(() => {
      throw error;
    });
  return new Promise(() => undefined);
}

function isAt(point: Point | undefined, write: string, nth: number): boolean {
  return point !== undefined && point.write === write && point.nth === nth;
}

function faultyTransport(config: KubeConfig, faults: Faults, writes: Writes): Transport {
  const inner = httpTransport(config);
  return {
    send(request) {
      const sent = { ...request, path: within(faults.namespace, request), headers: named(faults.userAgent, request) };
      const write = writeOf(request);
      if (write === undefined) return inner.send(sent);
      const isDone = ({ status }: HttpAnswer): boolean => status >= 200 && status < 300;
      return writes.inTurn(write, () => inner.send(sent), isDone);
    },
    close: () => inner.close(),
  };
}

const COLLECTION = /^\/(api\/v1|apis\/[^/]+\/[^/]+)\/([a-z]+)\?/;

/** Restricts lists and watches of all namespaces to one. */
function within(namespace: string | undefined, { method, path }: HttpRequest): string {
  if (namespace === undefined || method !== "GET") return path;
  return path.replace(COLLECTION, `/$1/namespaces/${namespace}/$2?`);
}

function named(userAgent: string | undefined, { headers }: HttpRequest): HttpRequest["headers"] {
  return userAgent === undefined ? headers : { ...headers, "user-agent": userAgent };
}

/** Undefined for requests that do not count as a write. */
function writeOf({ method, path, body }: HttpRequest): string | undefined {
  if (method === "GET") return undefined;
  const resource = /\/namespaces\/[^/]+\/([^?]+)/.exec(path)?.[1] ?? path;
  if (/^(events|leases)\b/.test(resource)) return undefined;
  // The ReplicaSet ends the names of its pods with a random part, which differs in another run.
  if (method !== "POST") return `${method} ${resource.replace(/^(pods\/.+)-[a-z0-9]+$/, "$1")}`;
  const { metadata } = JSON.parse(body ?? "{}") as { metadata?: { name?: string } };
  return `POST ${resource}/${metadata?.name}`;
}

/** The calls of EtcdClient that change something, by etcd's names. */
const CHANGES = {
  addLearner: "MemberAdd",
  promote: "MemberPromote",
  removeMember: "MemberRemove",
  updateMember: "MemberUpdate",
  moveLeader: "MoveLeader",
  disarmAlarm: "AlarmDisarm",
  downgrade: "Downgrade",
  put: "Put",
  deleteRange: "DeleteRange",
} as const satisfies Partial<Record<keyof EtcdClient, string>>;

function faultyEtcd(inner: EtcdClient, writes: Writes): EtcdClient {
  return new Proxy(inner, {
    get(target, property) {
      const method = Reflect.get(target, property, target) as (...args: unknown[]) => Promise<unknown>;
      if (!Object.hasOwn(CHANGES, property)) return method.bind(target);
      const write = CHANGES[property as keyof typeof CHANGES];
      return (...args: unknown[]) =>
        writes.inTurn(
          write,
          () => method.apply(target, args),
          () => true,
        );
    },
  });
}
