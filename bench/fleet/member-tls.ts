import type { Socket } from "node:net";
import { createSecureContext, createServer, type SecureContext, type TLSSocket } from "node:tls";
import { clientServiceName, serverCertificateName } from "#api/names.ts";
import type { Secret } from "#kube/kinds.ts";

/** What a client over TLS says first: a record of a handshake. */
export const HANDSHAKE = 22;

/** Members that speak TLS with what the operator has put into their Secrets, and ask for certificates of who calls as etcd does. */
export class MemberTls {
  readonly #namespaces: ReadonlySet<string>;
  readonly #secretOf: (name: string) => Secret | undefined;
  /** By the Secret's resourceVersion, which is in the key: another version is another context. */
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
   * @param secretOf a Secret of one of them, as it is by now
   * @param onSocket who came, and by which protocol
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
    this.#server.on("tlsClientError", () => undefined); // who called is told by an alert
  }

  /** How many have been finished so far. */
  get handshakes(): number {
    return this.#handshakes;
  }

  take(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** @param name as the operator dials: of a member's host, or of a client Service */
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
