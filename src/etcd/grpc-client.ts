import { hasCode, OperatorError } from "#base/error.ts";
import { type Observed, present, unknown } from "#base/observed.ts";
import { alarmOf, keyValueOf, kvHashOf, memberListOf, memberOf } from "./answers.ts";
import { bytesOf } from "./auth.ts";
import { DEFAULT_DEADLINE_MS } from "./call-options.ts";
import type { AddedMember, Bytes, CallOptions, CallReport, DowngradeAction, EtcdClient } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";
import { GrpcAuth } from "./grpc-auth.ts";
import { checkHealth } from "./health-check.ts";
import { type HeardPeers, listenForPeers } from "./heard-peers.ts";
import { incomplete } from "./member-calls.ts";
import { askPort } from "./metrics-port.ts";
import {
  AlarmRequest_AlarmAction as AlarmAction,
  AlarmType as AlarmNumber,
  DowngradeRequest_DowngradeAction as DowngradeNumber,
} from "./proto/etcdserverpb/rpc_pb.js";
import type { Alarm, EndpointStatus, KeyValue, KvHash, MemberId, MemberList } from "./types.ts";

/** Options of a request to a metrics port. */
type PortOptions = Pick<CallOptions, "signal" | "deadlineMs">;

/** Client for members over gRPC, and over HTTP for their metrics ports. */
export class GrpcClient extends GrpcAuth implements EtcdClient {
  async probe(endpoint: Endpoint, options: CallOptions): Promise<Observed<EndpointStatus>> {
    try {
      return present(await this.status(endpoint, options));
    } catch (thrown) {
      if (hasCode(thrown, "EtcdUnavailable", "EtcdRejected", "EtcdWrongCluster")) return unknown(thrown.message);
      throw thrown;
    }
  }

  async health(address: string, options: PortOptions): Promise<Observed<MemberId>> {
    return await this.#askPort("Health", address, options, (signal) => checkHealth(address, signal));
  }

  async serves(endpoint: Endpoint, options: PortOptions): Promise<Observed<true>> {
    return await this.#askPort("Readyz", endpoint.address, options, async (signal): Promise<true> => {
      await askPort(endpoint, "/readyz", signal);
      return true as const;
    });
  }

  async heardPeers(
    address: string,
    options: PortOptions & { expectedMemberId?: MemberId | undefined },
  ): Promise<Observed<HeardPeers>> {
    return await this.#askPort("HeardPeers", address, options, (signal) =>
      listenForPeers(address, options.expectedMemberId, this.parts.clock, signal),
    );
  }

  async memberList(endpoint: Endpoint, options: CallOptions & { linearizable: boolean }): Promise<MemberList> {
    const { linearizable } = options;
    const answer = await this.ask("MemberList", endpoint, options, (member, rpc) =>
      member.cluster.memberList({ linearizable }, rpc),
    );
    return memberListOf(answer.header, answer.members);
  }

  async addLearner(endpoint: Endpoint, peerUrls: readonly string[], options: CallOptions): Promise<AddedMember> {
    const answer = await this.change("MemberAdd", endpoint, options, (member, rpc) =>
      member.cluster.memberAdd({ peerURLs: [...peerUrls], isLearner: true }, rpc),
    );
    if (answer.member === undefined) throw incomplete("MemberAdd", endpoint, "member");
    return { member: memberOf(answer.member), memberList: memberListOf(answer.header, answer.members) };
  }

  async promote(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList> {
    const answer = await this.change("MemberPromote", endpoint, options, (member, rpc) =>
      member.cluster.memberPromote({ ID: id }, rpc),
    );
    return memberListOf(answer.header, answer.members);
  }

  async updateMember(
    endpoint: Endpoint,
    id: MemberId,
    peerUrls: readonly string[],
    options: CallOptions,
  ): Promise<MemberList> {
    const answer = await this.change("MemberUpdate", endpoint, options, (member, rpc) =>
      member.cluster.memberUpdate({ ID: id, peerURLs: [...peerUrls] }, rpc),
    );
    return memberListOf(answer.header, answer.members);
  }

  async removeMember(endpoint: Endpoint, id: MemberId, options: CallOptions): Promise<MemberList> {
    const answer = await this.change("MemberRemove", endpoint, options, (member, rpc) =>
      member.cluster.memberRemove({ ID: id }, rpc),
    );
    return memberListOf(answer.header, answer.members);
  }

  async moveLeader(endpoint: Endpoint, target: MemberId, options: CallOptions): Promise<void> {
    await this.change("MoveLeader", endpoint, options, (member, rpc) =>
      member.maintenance.moveLeader({ targetID: target }, rpc),
    );
  }

  async alarms(endpoint: Endpoint, options: CallOptions): Promise<readonly Alarm[]> {
    const answer = await this.ask("Alarm", endpoint, options, (member, rpc) =>
      member.maintenance.alarm({ action: AlarmAction.GET }, rpc),
    );
    return answer.alarms.map(alarmOf);
  }

  async disarmAlarm(endpoint: Endpoint, alarm: Alarm, options: CallOptions): Promise<void> {
    if (alarm.type === "UNKNOWN") throw new OperatorError("Bug", "an alarm of unknown type cannot be disarmed");
    const request = { action: AlarmAction.DEACTIVATE, memberID: alarm.memberId ?? 0n, alarm: AlarmNumber[alarm.type] };
    await this.change("Alarm", endpoint, options, (member, rpc) => member.maintenance.alarm(request, rpc));
  }

  async downgrade(endpoint: Endpoint, action: DowngradeAction, to: string, options: CallOptions): Promise<void> {
    const request = { action: DowngradeNumber[action], version: to };
    await this.change("Downgrade", endpoint, options, (member, rpc) => member.maintenance.downgrade(request, rpc));
  }

  async put(endpoint: Endpoint, key: Bytes, value: Bytes, options: CallOptions): Promise<number> {
    const request = { key: bytesOf(key), value: bytesOf(value) };
    const answer = await this.change("Put", endpoint, options, (member, rpc) => member.kv.put(request, rpc));
    return Number(answer.header.revision);
  }

  async get(
    endpoint: Endpoint,
    key: Bytes,
    options: CallOptions & { serializable?: boolean | undefined },
  ): Promise<KeyValue | undefined> {
    const request = { key: bytesOf(key), serializable: options.serializable ?? false };
    const answer = await this.ask("Range", endpoint, options, (member, rpc) => member.kv.range(request, rpc));
    const found = answer.kvs[0];
    return found === undefined ? undefined : keyValueOf(found);
  }

  async revision(endpoint: Endpoint, options: CallOptions): Promise<bigint> {
    // Reads the lowest possible key, which is not used: only the revision in the header is needed.
    const request = { key: new Uint8Array([0]), countOnly: true };
    const answer = await this.ask("Range", endpoint, options, (member, rpc) => member.kv.range(request, rpc));
    return answer.header.revision;
  }

  async deleteRange(
    endpoint: Endpoint,
    key: Bytes,
    options: CallOptions & { rangeEnd?: Bytes | undefined },
  ): Promise<number> {
    const request = { key: bytesOf(key), rangeEnd: bytesOf(options.rangeEnd ?? "") };
    const answer = await this.change("DeleteRange", endpoint, options, (member, rpc) =>
      member.kv.deleteRange(request, rpc),
    );
    return Number(answer.deleted);
  }

  async hashKv(endpoint: Endpoint, options: CallOptions & { revision?: number | undefined }): Promise<KvHash> {
    const request = { revision: BigInt(options.revision ?? 0) };
    const answer = await this.ask("HashKV", endpoint, options, (member, rpc) =>
      member.maintenance.hashKV(request, rpc),
    );
    return kvHashOf(answer.header, answer);
  }

  /** Sends a request to an HTTP port. Failures are `unknown`, except when the caller's signal aborted. */
  async #askPort<T>(
    method: string,
    address: string,
    { signal, deadlineMs = DEFAULT_DEADLINE_MS }: PortOptions,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<Observed<T>> {
    const { clock, onCall } = this.parts;
    const startedAtMs = clock.monotonicMs();
    const report = (code: CallReport["code"]) =>
      onCall?.({ method, code, durationMs: clock.monotonicMs() - startedAtMs, address });
    try {
      const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(deadlineMs)));
      const answer = await ask(AbortSignal.any([signal, deadline]));
      report("OK");
      return present(answer);
    } catch (thrown) {
      if (!hasCode(thrown, "EtcdUnavailable")) throw thrown;
      report(signal.aborted ? "Cancelled" : thrown.code);
      if (signal.aborted) throw new OperatorError("Cancelled", thrown.message, { cause: thrown });
      return unknown(thrown.message);
    }
  }
}
