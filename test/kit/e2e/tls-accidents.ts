import { X509Certificate } from "node:crypto";
import { expect } from "vitest";
import { peerHost, TLS_LABEL } from "#api/names.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import { isPair } from "#certificates/pem.ts";
import { dataOf } from "#kit/snapshots/certificates.ts";
import type { Secret } from "#kube/kinds.ts";
import { eventually, kubectl, UserCluster } from "./e2e.ts";
import { lives, secretTexts, shownBy } from "./user-tls.ts";

// Accidents of people with Secrets. The operator reads each Secret once a minute if its certificate is valid for less
// than an hour. So a test does other work while it waits.

const LIFE_MS = 50 * 60_000;
/** Valid for less than an hour, and not renewed during a test. */
const LIFE = { duration: "50m", renewBefore: "5m" } as const;
/**
 * Each of two Secrets is read once a minute, and the kubelet needs one or two more until etcd presents the new content.
 */
const NOTICED_MS = 240_000;

const BROUGHT = "their-peer";
const ISSUED = "my-etcd-server-tls";

/** A cluster of one member: people provide its peer certificate, and the operator issues its server certificate. */
export class TlsAccidents {
  readonly #cluster: UserCluster;
  readonly #key: string;
  #lives: readonly string[] = [];
  #uid = "";

  private constructor(cluster: UserCluster, key: string) {
    this.#cluster = cluster;
    this.#key = key;
  }

  /** Creates the cluster in this namespace. */
  static async begin(namespace: string): Promise<TlsAccidents> {
    const times = { fromMs: Date.now() - 60_000, untilMs: Date.now() + LIFE_MS };
    const theirs = await newAuthority("their CA", times);
    const names = [peerHost(namespace, "my-etcd", "my-etcd-0")];
    const pair = await newLeaf(theirs, { names, usages: ["serverAuth", "clientAuth"], ...times });
    const metadata = { namespace, name: BROUGHT, labels: { [TLS_LABEL]: "true" } };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: dataOf(pair, theirs.certificate) };
    await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify({ ...secret, type: "kubernetes.io/tls" }) });
    const cluster = new UserCluster(namespace);
    const peer = { provider: "Secret", secret: { name: BROUGHT } } as const;
    await cluster.create({ replicas: 1, tls: { peer, client: { provider: "Operator", ...LIFE } } });
    return new TlsAccidents(cluster, pair.key);
  }

  /** The people's Secret gets a key of another certificate, and the operator's Secret is deleted. */
  async happen(): Promise<void> {
    await this.#cluster.untilReady();
    await this.#cluster.untilCondition("TLSReady", "True", "CertificatesValid");
    this.#lives = await lives(this.#cluster);
    this.#uid = await this.#uidOf(ISSUED);
    const times = { fromMs: Date.now() - 60_000, untilMs: Date.now() + LIFE_MS };
    await this.#write((await newAuthority("somebody else", times)).key);
    await this.#cluster.kubectl("delete", "secret", ISSUED);
  }

  /**
   * Checks that the first accident is reported with the Secret's name, the second is repaired, and no pod restarts.
   * Then repairs the people's Secret.
   */
  async expectNoticed(): Promise<void> {
    const { status } = await this.#cluster.untilCondition("TLSReady", "False", "CertificateInvalid", NOTICED_MS);
    const { message } = status?.conditions?.find(({ type }) => type === "TLSReady") ?? {};
    expect(message).toContain(`Secret ${this.#cluster.namespace}/${BROUGHT}`);
    expect(message).toContain("its tls.key is not the key of its tls.crt");
    await eventually(async () => expect(await this.#uidOf(ISSUED)).not.toBe(this.#uid), NOTICED_MS);
    const made = await secretTexts(this.#cluster, ISSUED);
    expect(isPair(made["tls.crt"] ?? "", made["tls.key"] ?? "")).toBe(true);
    expect(await lives(this.#cluster)).toEqual(this.#lives);
    await this.#write(this.#key);
  }

  /** Checks that all is as before, except for a new server certificate, and still no pod has restarted. */
  async expectOver(): Promise<void> {
    await this.#cluster.untilCondition("TLSReady", "True", "CertificatesValid", NOTICED_MS);
    const made = await secretTexts(this.#cluster, ISSUED);
    const { fingerprint256 } = new X509Certificate(made["tls.crt"] ?? "");
    const host = `${peerHost(this.#cluster.namespace, "my-etcd", "my-etcd-0")}.cluster.local`;
    await eventually(async () => {
      const identity = await secretTexts(this.#cluster, "my-etcd-client");
      expect((await shownBy(host, 2379, identity)).fingerprint).toBe(fingerprint256);
    }, NOTICED_MS);
    expect((await this.#cluster.untilReady()).status?.members?.map(({ health }) => health)).toEqual(["Healthy"]);
    expect(await lives(this.#cluster)).toEqual(this.#lives);
  }

  async #write(key: string): Promise<void> {
    const data = JSON.stringify({ stringData: { "tls.key": key } });
    await this.#cluster.kubectl("patch", "secret", BROUGHT, "-p", data);
  }

  async #uidOf(name: string): Promise<string> {
    return (await this.#cluster.json<Secret>("get", "secret", name)).metadata.uid;
  }
}
