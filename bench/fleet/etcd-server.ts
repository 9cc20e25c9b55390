import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server as NetServer, type Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import { CLIENT_PORT, METRICS_PORT } from "#api/names.ts";
import { hexOf } from "#etcd/types.ts";
import { changesMembership, failureOf, METHODS } from "./etcd-rpc.ts";
import type { Kubelets } from "./kubelets.ts";
import { HANDSHAKE, MemberTls } from "./member-tls.ts";
import type { Members } from "./members.ts";

// How can one process be thousands of etcds?
//   All pod addresses are local ones inside the bench's network namespace. One listener per port accepts connections to
//   all of them, and the address to which a connection was made identifies the member.
// Why is gRPC done by hand?
//   Processor time of this server is lost for the operator. Only the framing of gRPC is needed here: a length before
//   each message.

/** First bytes of an HTTP/2 connection. */
const PREFACE = "PRI ";
/** Head of a gRPC frame: one byte for compression, four for the length. */
const FRAME_HEAD_BYTES = 5;

/** Serves etcd's gRPC API, health check and metrics for all members. */
export class EtcdServer {
  readonly #members: Members;
  /** Cluster behind the address of a client Service, as namespace and name. */
  readonly #clusterBehind: (address: string) => string | undefined;
  readonly #grpc: Http2Server = createHttp2Server();
  readonly #http: Server = createHttpServer();
  readonly #listeners: readonly NetServer[];
  readonly #tls: MemberTls;
  readonly #sockets = new Set<Socket>();
  readonly #unknown = new Set<string>();
  /** Time of the last request to each address, in milliseconds of `performance.now()`. */
  readonly #askedAtMs = new Map<string, number>();
  #calls = 0;

  constructor(kubelets: Kubelets, namespaces: readonly string[]) {
    this.#members = kubelets.members;
    this.#clusterBehind = (address) => kubelets.clusterBehind(address);
    const secretOf = (name: string) => kubelets.secretOf(name);
    this.#tls = new MemberTls(namespaces, secretOf, (socket, isHttp2) => {
      (isHttp2 ? this.#grpc : this.#http).emit("connection", socket);
    });
    this.#grpc.on("stream", (stream, headers) => {
      const address = String(stream.session?.socket.localAddress);
      void this.#answer(stream, String(headers[":path"]), address);
    });
    this.#grpc.on("sessionError", () => undefined); // a client has closed its connection
    this.#http.on("request", (request, response) => this.#tell(request, response));
    this.#listeners = [CLIENT_PORT, METRICS_PORT].map(() => createServer((socket) => this.#take(socket)));
  }

  async listen(): Promise<void> {
    const ports = [CLIENT_PORT, METRICS_PORT];
    await Promise.all(
      this.#listeners.map((listener, index) => {
        return new Promise<void>((done) =>
          listener.listen({ port: ports[index], host: "0.0.0.0", backlog: 4096 }, done),
        );
      }),
    );
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** gRPC calls so far. */
  get calls(): number {
    return this.#calls;
  }

  /** Handshakes over TLS so far. */
  get handshakes(): number {
    return this.#tls.handshakes;
  }

  /** Methods that the operator called and that METHODS does not have. */
  get unknownMethods(): readonly string[] {
    return [...this.#unknown];
  }

  /** Whether the member at this address got a request since then. @param sinceMs of `performance.now()` */
  wasAsked(address: string, sinceMs: number): boolean {
    return (this.#askedAtMs.get(address) ?? 0) >= sinceMs;
  }

  close(): void {
    for (const listener of this.#listeners) listener.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #take(socket: Socket): void {
    const address = String(socket.localAddress);
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => undefined);
    if (this.#members.isSilent(address)) {
      this.#askedAtMs.set(address, performance.now());
      return; // a silent member accepts the connection and never answers
    }
    if (this.#members.at(address) === undefined && this.#clusterBehind(address) === undefined)
      return void socket.resetAndDestroy();
    socket.once("readable", () => {
      const first = socket.read() as Buffer | null;
      if (first === null) return; // the client has closed the connection
      socket.unshift(first);
      if (first[0] === HANDSHAKE) return this.#tls.take(socket);
      const server = first.toString("latin1", 0, PREFACE.length) === PREFACE ? this.#grpc : this.#http;
      server.emit("connection", socket);
    });
  }

  async #answer(stream: ServerHttp2Stream, path: string, address: string): Promise<void> {
    stream.on("error", () => undefined); // the caller gave up
    this.#calls += 1;
    this.#askedAtMs.set(address, performance.now());
    if (this.#members.isSilent(address)) return;
    const member = this.#members.at(address);
    if (member === undefined || !member.process.isPublished) return stream.session?.destroy();
    const method = METHODS.get(path);
    try {
      const body = await bytesOf(stream);
      if (method === undefined) {
        this.#unknown.add(path);
        return refuse(stream, Code.Unimplemented, `${path} is not served here`);
      }
      const answer = await method(member, `${address}:${CLIENT_PORT}`, body.subarray(FRAME_HEAD_BYTES));
      if (changesMembership(path)) this.#members.settle(address);
      succeed(stream, answer);
    } catch (thrown) {
      const { code, text, afterMs } = failureOf(thrown);
      if (afterMs === 0) refuse(stream, code, text);
      else setTimeout(() => refuse(stream, code, text), afterMs);
    }
  }

  #tell(request: IncomingMessage, response: ServerResponse): void {
    const address = String(request.socket.localAddress);
    this.#askedAtMs.set(address, performance.now());
    const cluster = this.#clusterBehind(address);
    if (request.url === "/metrics") return void response.end(this.#metricsOf(address));
    const isWell = cluster === undefined ? this.#members.serves(address) : this.#members.servesAnywhere(cluster);
    response.statusCode = isWell ? 200 : 503;
    response.end(isWell ? "ok\n" : "not ok\n");
  }

  /** The metrics that the operator reads. */
  #metricsOf(address: string): string {
    const member = this.#members.at(address);
    if (member === undefined) return "";
    const { etcd, process } = member;
    const leader = etcd.leaderOf(process);
    const heard = etcd.reachableFrom(process).filter((other) => {
      return other !== process && (leader === process || other === leader);
    });
    return [
      `etcd_server_id{server_id="${hexOf(process.data.memberId)}"} 1`,
      `etcd_server_is_leader ${leader === process ? 1 : 0}`,
      ...heard.map(
        ({ data }) => `etcd_network_peer_received_bytes_total{From="${hexOf(data.memberId)}"} ${Date.now()}`,
      ),
      "",
    ].join("\n");
  }
}

async function bytesOf(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function succeed(stream: ServerHttp2Stream, message: Uint8Array): void {
  if (stream.destroyed) return;
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, FRAME_HEAD_BYTES);
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(frame);
}

function refuse(stream: ServerHttp2Stream, code: Code, text: string): void {
  if (stream.destroyed) return;
  const headers = { "grpc-status": String(code), "grpc-message": encodeURIComponent(text) };
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { endStream: true });
}
