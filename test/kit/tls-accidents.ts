import { X509Certificate } from "node:crypto";
import { expect } from "vitest";
import { peerHost, TLS_LABEL } from "#api/names.ts";
import { newAuthority, newLeaf } from "#certificates/issue.ts";
import { isPair } from "#certificates/pem.ts";
import { dataOf } from "#kit/certificates.ts";
import { eventually, kubectl, UserCluster } from "#kit/e2e.ts";
import { lives, secretTexts, shownBy } from "#kit/user-tls.ts";
import type { Secret } from "#kube/kinds.ts";

// What people do to Secrets by accident. The operator reads each of them once a minute where its certificate lasts for less than an hour: whoever
// tests it does something else meanwhile.

const LIFE_MS = 50 * 60_000;
/** Good for less than an hour, and not renewed as long as a test takes. */
const LIFE = { duration: "50m", renewBefore: "5m" };
/** Each of two Secrets is read once a minute, and the kubelet takes another one or two until etcd shows what is in them. */
const NOTICED_MS = 240_000;

const BROUGHT = "their-peer";
const ISSUED = "my-etcd-server-tls";

/** A cluster of one member: what it shows to others people bring, and what it shows to clients the operator makes. */
export class TlsAccidents {
  readonly #cluster: UserCluster;
  readonly #key: string;
  #lives: readonly string[] = [];
  #uid = "";

  private constructor(cluster: UserCluster, key: string) {
    this.#cluster = cluster;
    this.#key = key;
  }

  /** Makes it, in a namespace of its own. */
  static async begin(namespace: string): Promise<TlsAccidents> {
    const times = { fromMs: Date.now() - 60_000, untilMs: Date.now() + LIFE_MS };
    const theirs = await newAuthority("their CA", times);
    const names = [peerHost(namespace, "my-etcd", "my-etcd-0")];
    const pair = await newLeaf(theirs, { names, usages: ["serverAuth", "clientAuth"], ...times });
    const metadata = { namespace, name: BROUGHT, labels: { [TLS_LABEL]: "true" } };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: dataOf(pair, theirs.certificate) };
    await kubectl.run(["apply", "-f", "-"], { input: JSON.stringify({ ...secret, type: "kubernetes.io/tls" }) });
    const cluster = new UserCluster(namespace);
    const peer = { provider: "Secret", secret: { secretName: BROUGHT } };
    await cluster.create({ replicas: 1, tls: { peer, client: { provider: "Operator", ...LIFE } } } as never);
    return new TlsAccidents(cluster, pair.key);
  }

  /** Somebody else's key gets into what people bring, and what the operator has made is lost. */
  async happen(): Promise<void> {
    await this.#cluster.untilReady();
    await this.#cluster.untilCondition("TLSReady", "True", "CertificatesValid");
    this.#lives = await lives(this.#cluster);
    this.#uid = await this.#uidOf(ISSUED);
    const times = { fromMs: Date.now() - 60_000, untilMs: Date.now() + LIFE_MS };
    await this.#write((await newAuthority("somebody else", times)).key);
    await this.#cluster.kubectl("delete", "secret", ISSUED);
  }

  /** The one is told, by its name, the other one made anew; nobody restarts. Then what people bring is put right. */
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

  /** All is as it was, but for a pair that clients are shown by now; and still nobody has restarted. */
  async expectOver(): Promise<void> {
    await this.#cluster.untilCondition("TLSReady", "True", "CertificatesValid", NOTICED_MS);
    const made = await secretTexts(this.#cluster, ISSUED);
    const { fingerprint256 } = new X509Certificate(made["tls.crt"] ?? "");
    const host = `${peerHost(this.#cluster.namespace, "my-etcd", "my-etcd-0")}.cluster.local`;
    await eventually(async () => {
      const identity = await secretTexts(this.#cluster, "my-etcd-client");
      expect((await shownBy(host, 2379, identity)).fingerprint).toBe(fingerprint256);
    }, NOTICED_MS);
    expect((await this.#cluster.untilReady()).status?.members?.map(({ healthy }) => healthy)).toEqual([true]);
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
