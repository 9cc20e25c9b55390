import type { CallOptions as RpcOptions } from "@connectrpc/connect";
import type { Clock } from "#base/clock.ts";
import { OperatorError } from "#base/error.ts";
import { statusOf } from "./answers.ts";
import { DEFAULT_DEADLINE_MS } from "./call-options.ts";
import type { CallOptions, CallReport } from "./client.ts";
import type { Endpoint } from "./endpoint.ts";
import { translateError } from "./error.ts";
import type { ResponseHeader } from "./proto/etcdserverpb/rpc_pb.js";
import type { MemberServices, TransportPool } from "./transport.ts";
import { type EndpointStatus, hexOf } from "./types.ts";

interface Answer {
  readonly header?: ResponseHeader | undefined;
}
type Answered<T extends Answer> = T & { readonly header: ResponseHeader };
type Send<T extends Answer> = (services: MemberServices, options: RpcOptions) => Promise<T>;

/** Dependencies of the client. */
export interface EtcdClientParts {
  readonly pool: Pick<TransportPool, "servicesOf">;
  readonly clock: Clock;
  /**
   * Whether this process holds the leader lease now. Called right before the first byte of each call that changes etcd.
   * Undefined: changes are always allowed.
   */
  readonly mayChange?: (() => boolean) | undefined;
  /** Called once at the end of each call; must not throw. */
  readonly onCall?: ((report: CallReport) => void) | undefined;
}

/**
 * Common parts of every call to a member: deadline, check of the cluster ID, report for metrics, translation of errors.
 */
export abstract class MemberCalls {
  protected readonly parts: EtcdClientParts;

  constructor(parts: EtcdClientParts) {
    this.parts = parts;
  }

  async status(endpoint: Endpoint, options: CallOptions): Promise<EndpointStatus> {
    const answer = await this.ask("Status", endpoint, options, (member, rpc) => member.maintenance.status({}, rpc));
    return statusOf(answer.header, answer);
  }

  /**
   * Sends a call that changes etcd. A change in the wrong cluster could not be undone, so a status call checks the
   * cluster ID first. Both calls share the deadline.
   */
  protected async change<T extends Answer>(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    send: Send<T>,
  ): Promise<Answered<T>> {
    const { clock, mayChange } = this.parts;
    const onSending = () => {
      if (mayChange?.() !== false) return;
      const text = `${method} at ${endpoint.address}: not sent, this process does not lead any more`;
      throw new OperatorError("LeaseLost", text);
    };
    if (options.expectedClusterId === undefined) return await this.ask(method, endpoint, options, send, onSending);
    const startedAtMs = clock.monotonicMs();
    await this.status(endpoint, options);
    const leftMs = (options.deadlineMs ?? DEFAULT_DEADLINE_MS) - (clock.monotonicMs() - startedAtMs);
    return await this.ask(method, endpoint, { ...options, deadlineMs: leftMs }, send, onSending);
  }

  protected async ask<T extends Answer>(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    send: Send<T>,
    onSending?: () => void,
  ): Promise<Answered<T>> {
    const { clock, onCall } = this.parts;
    const startedAtMs = clock.monotonicMs();
    const report = (code: CallReport["code"]) =>
      onCall?.({ method, code, durationMs: clock.monotonicMs() - startedAtMs, address: endpoint.address });
    try {
      const answer = await this.#send(method, endpoint, options, send, onSending);
      report("OK");
      return answer;
    } catch (thrown) {
      const error =
        thrown instanceof OperatorError
          ? thrown
          : translateError({ method, ...named(endpoint), signal: options.signal }, thrown);
      report(error.code);
      throw error;
    }
  }

  async #send<T extends Answer>(
    method: string,
    endpoint: Endpoint,
    options: CallOptions,
    send: Send<T>,
    onSending?: () => void,
  ): Promise<Answered<T>> {
    const { signal, deadlineMs = DEFAULT_DEADLINE_MS, expectedClusterId } = options;
    // The header grpc-timeout takes whole milliseconds, and 0 or less would not be a valid deadline.
    const timeoutMs = Math.ceil(deadlineMs);
    if (timeoutMs <= 0) {
      throw new OperatorError("EtcdUnavailable", `${method} at ${endpoint.address}: no time left before the call`);
    }
    const answer = await send(this.parts.pool.servicesOf(endpoint, onSending), { signal, timeoutMs });
    if (answer.header === undefined) {
      if (method === "MoveLeader") return answer as Answered<T>; // etcd sends no header here, and no caller needs it.
      throw incomplete(method, endpoint, "header");
    }
    if (expectedClusterId !== undefined && answer.header.clusterId !== expectedClusterId) {
      throw new OperatorError(
        "EtcdWrongCluster",
        `${method} at ${endpoint.address}: answered by cluster ${answer.header.clusterId.toString(16)}, expected ${hexOf(expectedClusterId)}`,
      );
    }
    return answer as Answered<T>;
  }
}

function named({ address, tls }: Endpoint) {
  return { address, secretName: tls?.secretName };
}

export function incomplete(method: string, endpoint: Endpoint, field: string): OperatorError {
  return new OperatorError("EtcdRejected", `${method} at ${endpoint.address}: the answer has no ${field}`);
}
