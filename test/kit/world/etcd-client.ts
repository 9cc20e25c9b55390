import { CLIENT_PORT, METRICS_PORT } from "#api/names.ts";
import { OperatorError } from "#base/error.ts";
import { present, unknown } from "#base/observed.ts";
import type { AddedMember, CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint, TlsIdentity } from "#etcd/endpoint.ts";
import type { EtcdRefusal } from "#etcd/error.ts";
import type { HeardPeers } from "#etcd/heard-peers.ts";
import { tlsFailureText } from "#etcd/tls-failure.ts";
import { type EndpointStatus, hexOf, type MemberId, type MemberList } from "#etcd/types.ts";
import { PODS, type Pod, SERVICES } from "#kube/kinds.ts";
import type { ApiServer } from "./api.ts";
import { askerOf, authClient, needAdministrator } from "./auth-client.ts";
import type { Calls } from "./calls.ts";
import type { WorldTime } from "./clock.ts";
import { authOf, type Entry, membersOf, votersOf } from "./disk.ts";
import { downgrade } from "./downgrade.ts";
import type { Etcd, Process } from "./etcd.ts";
import { whyNotAdd, whyNotPromote, whyNotRemove, whyNotUpdate } from "./reconfiguration.ts";
import { refusal, timedOut } from "./refusal.ts";
import { whyNotServed } from "./tls.ts";
import { minorOf } from "./version.ts";

/**
 * How long after a pod became Ready the client Service routes to it, in milliseconds. As on a busy node, this is longer
 * than an observation waits (src/cluster/observe/client-service-answer.ts).
 */
const ROUTED_AFTER_MS = 5_000;

/** The part of etcd's API that the operator calls, answered by the simulated members at their pods' addresses. */
export class WorldEtcdClient {
  readonly #api: Pick<ApiServer, "list">;
  readonly #etcd: Etcd;
  readonly #calls: Pick<Calls, "send">;
  readonly #time: Pick<WorldTime, "nowMs" | "skewMs">;
  readonly #onList: (process: Process) => void;
  readonly #onServed: (service: string) => void;

  /**
   * @param parts.onList is called with each member list that a quorum confirmed
   * @param parts.onServed is called with the uid of each Service through which the operator was served
   */
  constructor(parts: {
    api: Pick<ApiServer, "list">;
    etcd: Etcd;
    calls: Pick<Calls, "send">;
    time: Pick<WorldTime, "nowMs" | "skewMs">;
    onList: (process: Process) => void;
    onServed: (service: string) => void;
  }) {
    this.#api = parts.api;
    this.#time = parts.time;
    this.#etcd = parts.etcd;
    this.#calls = parts.calls;
    this.#onList = parts.onList;
    this.#onServed = parts.onServed;
  }

  /** The client for the operator. Calls that it does not make are left out. */
  asClient(): EtcdClient {
    const auth = authClient(this.#etcd, (method, endpoint, changes, options, run) =>
      this.#call(method, endpoint, changes, (process) => run(this.#led(asked(process, options)), process)),
    );
    const client: Partial<EtcdClient> = {
      ...auth,
      status: (endpoint) => this.#call("Status", endpoint, false, (process) => this.#status(process)),
      probe: async (endpoint) => {
        try {
          return present(await this.#call("Status", endpoint, false, (process) => this.#status(process)));
        } catch (thrown) {
          return unknown(thrown instanceof Error ? thrown.message : String(thrown));
        }
      },
      health: async (address) => {
        try {
          return present(await this.#call("Health", { address }, false, (process) => this.#health(process)));
        } catch (thrown) {
          return unknown(thrown instanceof Error ? thrown.message : String(thrown));
        }
      },
      serves: async ({ address, tls }) => {
        try {
          const text = `Serves at ${address}`;
          const unavailable = (why: string) => new OperatorError("EtcdUnavailable", `${text}: ${why}`);
          const run = () => this.#serves({ address, tls }, unavailable);
          return present(await this.#calls.send({ text, changes: false, unavailable, run }));
        } catch (thrown) {
          return unknown(thrown instanceof Error ? thrown.message : String(thrown));
        }
      },
      heardPeers: async (address, { expectedMemberId }) => {
        try {
          return present(
            await this.#call("HeardPeers", { address }, false, (process) => this.#heard(process, expectedMemberId)),
          );
        } catch (thrown) {
          return unknown(thrown instanceof Error ? thrown.message : String(thrown));
        }
      },
      memberList: (endpoint, options) => this.#memberList(endpoint, options),
      addLearner: (endpoint, peerUrls, options) => this.#addLearner(endpoint, peerUrls, options),
      promote: (endpoint, id, options) =>
        this.#change("MemberPromote", endpoint, options, {
          whyNot: (process) => whyNotPromote(this.#etcd, process, id),
          entry: (term) => ({ term, is: "promote", id }),
        }),
      updateMember: (endpoint, id, [peerUrl = ""], options) =>
        this.#change("MemberUpdate", endpoint, options, {
          whyNot: (process) => whyNotUpdate(this.#etcd, process, id, peerUrl),
          entry: (term) => ({ term, is: "update", id, peerUrl }),
        }),
      removeMember: (endpoint, id, options) =>
        this.#change("MemberRemove", endpoint, options, {
          whyNot: (process) => whyNotRemove(this.#etcd, process, id),
          entry: (term) => ({ term, is: "remove", id }),
        }),
      moveLeader: (endpoint, target, options) =>
        this.#call("MoveLeader", endpoint, true, (process) => {
          this.#moveLeader(permitted(asked(process, options), endpoint), target);
        }),
      disarmAlarm: (endpoint, alarm, options) =>
        this.#call("Alarm", endpoint, true, (process) => {
          const { data } = this.#led(permitted(asked(process, options), endpoint));
          const { alarms, full } = this.#etcd.truth.of(data.clusterId);
          if (alarm.type === "CORRUPT") alarms.delete(alarm.memberId);
          else if (alarm.type === "NOSPACE" && alarm.memberId !== undefined) full.delete(alarm.memberId);
        }),
      downgrade: (endpoint, action, to, options) =>
        this.#call(`Downgrade ${action}`, endpoint, action !== "VALIDATE", (process) =>
          downgrade(this.#etcd, this.#led(permitted(asked(process, options), endpoint)), process, action, to),
        ),
    };
    return client as EtcdClient;
  }

  #call<T>(method: string, endpoint: Endpoint, changes: boolean, run: (process: Process) => T): Promise<T> {
    const text = `${method} at ${endpoint.address}`;
    const unavailable = (why: string) => new OperatorError("EtcdUnavailable", `${text}: ${why}`);
    return this.#calls.send({ text, changes, unavailable, run: () => run(this.#dial(endpoint, unavailable)) });
  }

  /**
   * A call through the Service of this address: to any pod that has been Ready for so long that kube-proxy knows it.
   */
  #serves({ address, tls }: Endpoint, unavailable: (why: string) => OperatorError): true {
    const service = this.#api.list(SERVICES).find(({ spec }) => `${spec?.clusterIP}:${CLIENT_PORT}` === address);
    const selector = Object.entries(service?.spec?.selector ?? {});
    const routed = this.#api
      .list(PODS)
      .filter((pod) => selector.every(([key, value]) => pod.metadata.labels?.[key] === value) && this.#isRouted(pod));
    if (service === undefined || routed.length === 0) throw unavailable("connection refused");
    const processes = routed.map(({ metadata }) => this.#etcd.processes.get(metadata.uid));
    // kube-proxy may choose any of them.
    if (processes.some((each) => each === undefined || each.isHidden)) throw unavailable("no answer");
    for (const each of processes) if (each !== undefined) this.#shakeHands(each, tls, unavailable);
    if (processes.some((each) => each !== undefined && this.#etcd.leaderOf(each) === undefined))
      throw unavailable("status 503");
    this.#onServed(service.metadata.uid);
    return true;
  }

  #isRouted({ metadata, status }: Pod): boolean {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    const forMs = this.#time.nowMs - Date.parse(ready?.lastTransitionTime ?? "");
    return metadata.deletionTimestamp === undefined && ready?.status === "True" && forMs >= ROUTED_AFTER_MS;
  }

  #dial({ address, tls }: Endpoint, unavailable: (why: string) => OperatorError): Process {
    for (const process of this.#etcd.processes.values()) {
      if (process.isHidden || !address.startsWith(`${process.address}:`)) continue;
      if (address === `${process.address}:${METRICS_PORT}`) return process; // the metrics port has no TLS
      if (!process.isPublished || address !== `${process.address}:${CLIENT_PORT}`) continue;
      this.#shakeHands(process, tls, unavailable);
      return process;
    }
    throw unavailable("connection refused");
  }

  /** The client judges certificates by the clock of the operator's node. */
  #shakeHands({ speeches }: Process, tls: TlsIdentity | undefined, unavailable: (why: string) => OperatorError): void {
    const { nowMs, skewMs } = this.#time;
    const code = whyNotServed(speeches, tls, { ownMs: nowMs + skewMs, memberMs: nowMs });
    if (code === undefined) return;
    const failure = Object.assign(new Error(code), { code });
    throw unavailable(tlsFailureText(failure, tls?.secretName) ?? code);
  }

  /** The leader, through which everything passes that needs a quorum. Its followers forward changes to it. */
  #led(process: Process): Process {
    const leader = this.#etcd.leaderOf(process);
    if (leader !== undefined) return leader;
    throw timedOut();
  }

  #health(process: Process): MemberId {
    if (!this.#etcd.passesHealthCheck(process)) throw new OperatorError("EtcdUnavailable", "status 503");
    return process.data.memberId;
  }

  /** The leader exchanges heartbeats with each other member; two followers exchange none (src/etcd/heard-peers.ts). */
  #heard(process: Process, expected: MemberId | undefined): HeardPeers {
    const by = process.data.memberId;
    if (expected !== undefined && expected !== by) throw new OperatorError("EtcdUnavailable", "somebody else answered");
    const leader = this.#etcd.leaderOf(process);
    const others = this.#etcd.reachableFrom(process).filter((other) => other !== process);
    const heard = others.filter((other) => leader === process || other === leader).map(({ data }) => data.memberId);
    return { by, isLeader: leader === process, heard: new Set(heard) };
  }

  #memberList(endpoint: Endpoint, options: CallOptions & { readonly linearizable: boolean }): Promise<MemberList> {
    const kind = options.linearizable ? "" : " (serializable)";
    return this.#call(`MemberList${kind}`, endpoint, false, (process) => {
      asked(process, options);
      if (!options.linearizable) return listOf(process);
      const leader = this.#led(process);
      this.#onList(leader);
      return listOf(leader);
    });
  }

  async #addLearner(endpoint: Endpoint, peerUrls: readonly string[], options: CallOptions): Promise<AddedMember> {
    const peerUrl = peerUrls[0] ?? "";
    let id: MemberId | undefined;
    const memberList = await this.#change("MemberAddAsLearner", endpoint, options, {
      whyNot: (process) => whyNotAdd(this.#etcd, process, { isLearner: true, peerUrl }),
      entry: (term) => {
        id = this.#etcd.newMemberId();
        return { term, is: "add", member: { id, name: "", isAnnounced: false, peerUrl, isLearner: true } };
      },
    });
    const member = memberList.members.find((each) => each.id === id);
    if (member === undefined) throw refusal("MemberNotFound");
    return { member, memberList };
  }

  #change(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    change: { whyNot: (asked: Process) => EtcdRefusal | undefined; entry: (term: number) => Entry },
  ): Promise<MemberList> {
    return this.#call(method, endpoint, true, (process) => {
      permitted(asked(process, options), endpoint);
      refuse(change.whyNot(process));
      const leader = this.#led(process);
      // A follower forwards this call without the user's name, and retries until the deadline.
      if (method === "MemberPromote" && leader !== process && authOf(leader.data).enabled) throw timedOut();
      if (this.#etcd.change(leader, change.entry(leader.data.term))) return listOf(leader);
      throw timedOut();
    });
  }

  /**
   * An invalid target is refused at once. A target that cannot be reached shows only by a timeout: `MoveLeader` in
   * server/etcdserver/server.go.
   */
  #moveLeader(process: Process, target: MemberId): void {
    if (process.leaderId !== process.data.memberId) throw refusal("NotLeader");
    if (!votersOf(process.data).includes(target)) throw refusal("BadLeaderTransferee");
    const successor = this.#etcd.reachableFrom(process).find(({ data }) => data.memberId === target);
    if (this.#led(process) !== process || successor === undefined || !this.#etcd.moveLeader(process, successor))
      throw timedOut();
  }

  #status({ data, leaderId, version }: Process): EndpointStatus {
    const { alarms, full, downgradeTo } = this.#etcd.truth.of(data.clusterId);
    return {
      clusterId: data.clusterId,
      memberId: data.memberId,
      version,
      dbSizeBytes: 20_480,
      dbSizeInUseBytes: 16_384,
      dbSizeQuotaBytes: undefined,
      storageVersion: minorOf(version) < 6 || data.storage === undefined ? undefined : `3.${data.storage}.0`,
      leaderId,
      raftIndex: data.committed,
      raftAppliedIndex: data.committed,
      raftTerm: data.term,
      isLearner: !votersOf(data).includes(data.memberId),
      downgradeTo: minorOf(version) < 6 || downgradeTo === undefined ? undefined : `3.${downgradeTo}.0`,
      alarms: [
        ...[...alarms].map((memberId) => ({ memberId, type: "CORRUPT" as const })),
        ...[...full].map((memberId) => ({ memberId, type: "NOSPACE" as const })),
      ],
    };
  }
}

/** Learners answer few calls: `newUnaryInterceptor` in server/etcdserver/api/v3rpc/interceptor.go. */
function asked(process: Process, { expectedClusterId }: CallOptions): Process {
  refuse(membersOf(process.data).get(process.data.memberId)?.isLearner === true ? "NotSupportedForLearner" : undefined);
  if (expectedClusterId === undefined || process.data.clusterId === expectedClusterId) return process;
  throw new OperatorError("EtcdWrongCluster", `cluster ${hexOf(process.data.clusterId)} answered`);
}

/**
 * The dialled member decides by its own data; the call does not go through the log.
 * @throws OperatorError EtcdRejected
 */
function permitted(process: Process, endpoint: Endpoint): Process {
  needAdministrator(authOf(process.data), askerOf(process, endpoint));
  return process;
}

function refuse(name: EtcdRefusal | undefined): void {
  if (name !== undefined) throw refusal(name);
}

function listOf({ data }: Process): MemberList {
  return {
    clusterId: data.clusterId,
    answeredBy: data.memberId,
    raftTerm: data.term,
    members: [...membersOf(data).values()].map(({ id, name, isAnnounced, peerUrl, isLearner }) => ({
      id,
      name,
      peerUrls: [peerUrl],
      clientUrls: !isAnnounced ? [] : [peerUrl.replace(":2380", ":2379")],
      isLearner,
    })),
  };
}
