import type { Socket } from "node:net";
import { createSecureContext, createServer, type SecureContext, type TLSSocket } from "node:tls";
import { clientServiceName, serverCertificateName } from "#api/names.ts";
import type { Secret } from "#kube/kinds.ts";

/** First byte of a TLS connection: the type of a handshake record. */
export const HANDSHAKE = 22;

/**
 * TLS of the simulated members: certificates from the Secrets that the operator made. Clients need a certificate, as
 * with etcd.
 */
export class MemberTls {
  readonly #namespaces: ReadonlySet<string>;
  readonly #secretOf: (name: string) => Secret | undefined;
  /** Contexts by cluster and resourceVersion of its Secret: a changed Secret gets a new context. */
  readonly #contexts = new Map<string, SecureContext>();
  readonly #server = createServer({
    ALPNProtocols: ["h2", "http/1.1"],
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    SNICallback: (name, done) => done(null, this.#contextOf(name)),
  });
  #handshakes = 0;

  /**
   * @param namespaces of the fleet
   * @param secretOf current version of a Secret of one of them
   * @param onSocket receives each connection after its handshake
   */
  constructor(
    namespaces: readonly string[],
    secretOf: (name: string) => Secret | undefined,
    onSocket: (socket: TLSSocket, isHttp2: boolean) => void,
  ) {
    this.#namespaces = new Set(namespaces);
    this.#secretOf = secretOf;
    this.#server.on("secureConnection", (socket) => {
      this.#handshakes += 1;
      socket.on("error", () => undefined);
      onSocket(socket, socket.alpnProtocol === "h2");
    });
    this.#server.on("tlsClientError", () => undefined); // the client has got a TLS alert
  }

  /** Handshakes that succeeded so far. */
  get handshakes(): number {
    return this.#handshakes;
  }

  take(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** @param name from SNI: the host of a member, or a client Service */
  #contextOf(name: string): SecureContext | undefined {
    const [host = "", service = ""] = name.split(".");
    const cluster = this.#namespaces.has(service) ? host.slice(0, -clientServiceName("").length) : service;
    const secret = this.#secretOf(serverCertificateName(cluster));
    const { data } = secret ?? {};
    if (secret === undefined || data === undefined) return undefined;
    const key = `${cluster} ${secret.metadata.resourceVersion}`;
    const text = (field: string): string => Buffer.from(data[field] ?? "", "base64").toString();
    const context =
      this.#contexts.get(key) ??
      createSecureContext({ cert: text("tls.crt"), key: text("tls.key"), ca: text("ca.crt"), minVersion: "TLSv1.2" });
    this.#contexts.set(key, context);
    return context;
  }
}
