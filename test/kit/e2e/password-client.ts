import { type Client, ConnectError, createClient, type CallOptions as RpcOptions } from "@connectrpc/connect";
import { keyValueOf } from "#etcd/answers.ts";
import { bytesOf } from "#etcd/auth.ts";
import type { CallOptions, EtcdClient } from "#etcd/client.ts";
import type { Endpoint } from "#etcd/endpoint.ts";
import { type EtcdRefusal, REFUSAL_TEXTS, translateError } from "#etcd/error.ts";
import { Auth, KV } from "#etcd/proto/etcdserverpb/rpc_pb.js";
import { connectTo } from "#etcd/snapshot-source.ts";

// How does an application with a name and a password log in? Like etcd's own client (client/v3/client.go,
// retry_interceptor.go). It gets a token, sends that with each request, and logs in again when etcd refuses it. A
// refused request had no effect, so it is sent again, even a write.
//
// What does etcd's own client leave to the application? Reading the credentials again after etcd refuses them, until
// the request's deadline.

/** Refusals after which a client must log in again. */
const LOGIN_IS_OVER: readonly EtcdRefusal[] = ["InvalidAuthToken", "AuthOldRevision"];
const REREAD_AFTER_MS = 100;

export interface Credentials {
  readonly name: string;
  readonly password: string;
}

/** Counts of all clients with the same credentials. */
export interface Login {
  /** The credentials as the application can read them now. */
  readonly credentials: () => Promise<Credentials>;
  /** Number of successful logins. */
  logins: number;
  /** Number of refused passwords. */
  refusedPasswords: number;
}

interface Connection {
  readonly endpoint: Endpoint;
  readonly auth: Client<typeof Auth>;
  readonly kv: Client<typeof KV>;
  readonly close: () => void;
}

/** One client with one connection. */
export class PasswordClient implements Pick<EtcdClient, "put" | "get"> {
  readonly #login: Login;
  #credentials: Credentials | undefined;
  #token: string | undefined;
  #connection: Connection | undefined;

  constructor(login: Login) {
    this.#login = login;
  }

  async put(...[endpoint, key, value, options]: Parameters<EtcdClient["put"]>): Promise<number> {
    const request = { key: bytesOf(key), value: bytesOf(value) };
    const { header } = await this.#ask("Put", endpoint, options, ({ kv }, rpc) => kv.put(request, rpc));
    return Number(header?.revision);
  }

  async get(...[endpoint, key, options]: Parameters<EtcdClient["get"]>): ReturnType<EtcdClient["get"]> {
    const request = { key: bytesOf(key) };
    const { kvs } = await this.#ask("Range", endpoint, options, ({ kv }, rpc) => kv.range(request, rpc));
    return kvs[0] && keyValueOf(kvs[0]);
  }

  closeAll(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }

  async #ask<T>(
    method: string,
    endpoint: Endpoint,
    { signal, deadlineMs = 0 }: CallOptions,
    send: (to: Connection, rpc: RpcOptions) => Promise<T>,
  ): Promise<T> {
    const untilMs = performance.now() + deadlineMs;
    const rest = () => ({ signal, timeoutMs: Math.max(1, Math.ceil(untilMs - performance.now())) });
    for (;;) {
      try {
        const connection = this.#connectionTo(endpoint);
        this.#token ??= await this.#loggedIn(connection, rest);
        return await send(connection, { ...rest(), headers: { token: this.#token } });
      } catch (thrown) {
        if (!is(thrown, ...LOGIN_IS_OVER)) throw translateError({ method, address: endpoint.address, signal }, thrown);
        this.#token = undefined;
      }
    }
  }

  async #loggedIn({ auth }: Connection, rest: () => RpcOptions): Promise<string> {
    for (;;) {
      this.#credentials ??= await this.#login.credentials();
      try {
        const { token } = await auth.authenticate(this.#credentials, rest());
        this.#login.logins++;
        return token;
      } catch (thrown) {
        if (!is(thrown, "AuthFailed", "AuthOldRevision") || (rest().timeoutMs ?? 0) <= REREAD_AFTER_MS) throw thrown;
        if (is(thrown, "AuthFailed")) this.#login.refusedPasswords++;
        this.#credentials = undefined;
        await new Promise((resolve) => setTimeout(resolve, REREAD_AFTER_MS));
      }
    }
  }

  /** A token is valid at all members, so a new connection keeps using it. */
  #connectionTo(endpoint: Endpoint): Connection {
    if (this.#connection?.endpoint === endpoint) return this.#connection;
    this.closeAll();
    const { address, tls } = endpoint;
    const { transport, close } = connectTo({ url: `${tls === undefined ? "http" : "https"}://${address}`, tls });
    this.#connection = { endpoint, auth: createClient(Auth, transport), kv: createClient(KV, transport), close };
    return this.#connection;
  }
}

function is(thrown: unknown, ...refusals: readonly EtcdRefusal[]): boolean {
  return thrown instanceof ConnectError && refusals.some((each) => REFUSAL_TEXTS[each] === thrown.rawMessage);
}
