import { appendFileSync } from "node:fs";
import type { EtcdClient } from "#etcd/client.ts";
import type { KubeConfig } from "#kube/config.ts";
import { type HttpAnswer, type HttpRequest, httpTransport, type Transport } from "#kube/transport.ts";
import type { Wires } from "../../src/bin/world.ts";

// What is a write here?
//   A request that the API server carried out and that changed something, or a change of etcd's membership or leadership.
// What is not?
//   Events: they tell people what happened, and nothing is ever decided by them. The lease: it is not about any cluster; what
//   happens when its holder dies is the matter of takeover.test.ts. Refused requests: they changed nothing.
// Why one write at a time where a death is planned?
//   So that "after this write" means that no later one is on its way already. Passes do run side by side, but what they write
//   does not depend on which of two unrelated writes lands first.
// Why die after a write and never before one?
//   The process keeps nothing but memory. Dead right before a write is therefore dead after the one before it.

/** One write, so that it is found again in another run: `POST peers/my-etcd-0`, `MemberAdd`; and the how many-th such, from 1. */
export interface Point {
  readonly write: string;
  readonly nth: number;
}

/** What happens to an operator of a test. Travels as JSON in the environment. */
export interface Faults {
  /** All that it sees of the cluster: several operators can then be tried side by side, each with clusters of its own. */
  readonly namespace?: string;
  /** Calls itself so at the API server, whose audit log tells operators apart by it. */
  readonly userAgent?: string;
  /** In place of `--reread-within`, in milliseconds: kubelets of a test bring what has changed within seconds, and who reads it waits no longer. */
  readonly rereadWithinMs?: number;
  /** Where each write is noted as a line. Written at once: it must outlive the process. */
  readonly notes: string;
  /** SIGKILL ends the process right after this write was carried out, before anything else of it can run. */
  readonly dieAfter?: Point;
  /** Likewise SIGSTOP. Writes go side by side then, as ever: one that waits for another would be sent after waking. */
  readonly freezeAfter?: Point;
  /** SIGSTOP right before this write is sent: decided on in time, and sent when the process wakes. */
  readonly freezeBefore?: Point;
}

/** Environment variable that carries Faults. */
export const FAULTS = "OPERATOR_FAULTS";

export function faultyWires(faults: Faults): Wires {
  const writes = new Writes(faults);
  return { kube: (config) => faultyTransport(config, faults, writes), etcd: (client) => faultyEtcd(client, writes) };
}

/** Notes writes, puts them into a row, and strikes where it is told to. */
class Writes {
  readonly #faults: Faults;
  readonly #counts = new Map<string, number>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Makes a write when those before it have ended. @param isDone whether this answer means that something changed */
  async inTurn<T>(write: string, make: () => Promise<T>, isDone: (answer: T) => boolean): Promise<T> {
    const makeNow = async (): Promise<T> => {
      if (isAt(this.#faults.freezeBefore, write, this.#made(write) + 1)) process.kill(process.pid, "SIGSTOP");
      const answer = await make();
      if (isDone(answer)) this.#done(write);
      return answer;
    };
    if (this.#faults.dieAfter === undefined) return await makeNow();
    const turn = this.#last.then(makeNow);
    this.#last = turn.catch(() => undefined); // its caller hears of it; the next in line goes on
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
    // A signal to oneself is delivered before kill(2) returns: not one more line of JavaScript runs.
    if (isAt(dieAfter, write, nth)) process.kill(process.pid, "SIGKILL");
    if (isAt(freezeAfter, write, nth)) process.kill(process.pid, "SIGSTOP");
  }
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

/** Lists and watches of all namespaces become those of one. */
function within(namespace: string | undefined, { method, path }: HttpRequest): string {
  if (namespace === undefined || method !== "GET") return path;
  return path.replace(COLLECTION, `/$1/namespaces/${namespace}/$2?`);
}

function named(userAgent: string | undefined, { headers }: HttpRequest): HttpRequest["headers"] {
  return userAgent === undefined ? headers : { ...headers, "user-agent": userAgent };
}

/** Undefined for what does not count as a write. */
function writeOf({ method, path, body }: HttpRequest): string | undefined {
  if (method === "GET") return undefined;
  const resource = /\/namespaces\/[^/]+\/([^?]+)/.exec(path)?.[1] ?? path;
  if (/^(events|leases)\b/.test(resource)) return undefined;
  // The ReplicaSet gives its pods names with something random at the end, which another run does not have.
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
