import "reflect-metadata"; // x509 needs it loaded first
import { createHash, type webcrypto } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import * as x509 from "@peculiar/x509";
import { KUBERNETES_SERVICE, MAX_NODES, nodeAddresses } from "./addresses.ts";
import type { Instance } from "./instance.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 3600_000;
/** Validity of certificates, in milliseconds: longer than any instance lives. */
const VALID_MS = 3650 * DAY_MS;

/** A certificate to issue. */
export interface Leaf {
  /** File name without ending. */
  readonly name: string;
  readonly commonName: string;
  /** Group of the user, for Kubernetes. */
  readonly organization?: string;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

/** Group of users that may do everything, without any RBAC rule. */
const ADMINS = "system:masters";

/** Clients of the API server: a user for each program, so that the audit log distinguishes them. */
export const CLIENTS = {
  admin: { name: "admin", commonName: "admin", organization: ADMINS },
  controllerManager: { name: "controller-manager", commonName: "system:kube-controller-manager" },
  scheduler: { name: "scheduler", commonName: "system:kube-scheduler" },
  proxy: { name: "kube-proxy", commonName: "system:kube-proxy" },
  dns: { name: "coredns", commonName: "coredns", organization: ADMINS },
  provisioner: { name: "provisioner", commonName: "local-provisioner", organization: ADMINS },
  environment: { name: "environment", commonName: "local-environment", organization: ADMINS },
  apiServerToKubelet: { name: "apiserver-to-kubelet", commonName: "apiserver-to-kubelet", organization: ADMINS },
} as const satisfies Record<string, Leaf>;

function apiServerLeaf(instance: Instance): Leaf {
  const nodes = Array.from({ length: MAX_NODES }, (_, index) => nodeAddresses(index + 1).apiAddress);
  return {
    name: "apiserver",
    commonName: "kube-apiserver",
    dnsNames: [
      "localhost",
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      "kubernetes.default.svc.cluster.local",
    ],
    ipAddresses: ["127.0.0.1", KUBERNETES_SERVICE, instance.link.insideAddress, ...nodes],
  };
}

/** Certificate of a kubelet, as a client of the API server and as a server for exec and logs. */
export function kubeletLeaf(node: number): Leaf {
  return {
    name: `kubelet-${node}`,
    commonName: `system:node:node-${node}`,
    organization: "system:nodes",
    dnsNames: [`node-${node}`],
    ipAddresses: [nodeAddresses(node).address],
  };
}

/** Path of a file of the instance's certificates. */
export function pkiFile(instance: Instance, file: string): string {
  return join(instance.pki, file);
}

/** Issues certificates that are missing or have other names. The CA and the key for tokens are made once. */
export async function ensureCertificates(instance: Instance, nodes: number): Promise<void> {
  mkdirSync(instance.pki, { recursive: true, mode: 0o700 });
  const authority = await ensureAuthority(instance);
  await ensureTokenKey(instance);
  const kubelets = Array.from({ length: nodes }, (_, index) => kubeletLeaf(index + 1));
  for (const leaf of [apiServerLeaf(instance), ...Object.values(CLIENTS), ...kubelets]) {
    await ensureLeaf(instance, authority, leaf);
  }
}

interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly key: webcrypto.CryptoKey;
}

async function ensureAuthority(instance: Instance): Promise<Authority> {
  const certificateFile = pkiFile(instance, "ca.crt");
  const keyFile = pkiFile(instance, "ca.key");
  if (!existsSync(certificateFile)) {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: "CN=local-kubernetes",
      keys,
      signingAlgorithm: ALGORITHM,
      ...validity(),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    await writeKey(keyFile, keys.privateKey);
    writeFileSync(certificateFile, certificate.toString("pem"));
  }
  const der = x509.PemConverter.decodeFirst(readFileSync(keyFile, "utf8"));
  const key = await crypto.subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"]);
  return { certificate: new x509.X509Certificate(readFileSync(certificateFile, "utf8")), key };
}

async function ensureTokenKey(instance: Instance): Promise<void> {
  const publicFile = pkiFile(instance, "tokens.pub");
  if (existsSync(publicFile)) return;
  const keys = await generateKeys();
  await writeKey(pkiFile(instance, "tokens.key"), keys.privateKey);
  writeFileSync(
    publicFile,
    x509.PemConverter.encode(await crypto.subtle.exportKey("spki", keys.publicKey), "PUBLIC KEY"),
  );
}

async function ensureLeaf(instance: Instance, authority: Authority, leaf: Leaf): Promise<void> {
  const certificateFile = pkiFile(instance, `${leaf.name}.crt`);
  const issuedFor = createHash("sha256").update(JSON.stringify(leaf)).digest("hex");
  const noteFile = pkiFile(instance, `${leaf.name}.issued-for`);
  if (existsSync(noteFile) && readFileSync(noteFile, "utf8") === issuedFor) return;
  const keys = await generateKeys();
  const names: x509.JsonGeneralNames = [
    ...(leaf.dnsNames ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(leaf.ipAddresses ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    subject: [{ CN: [leaf.commonName] }, ...(leaf.organization === undefined ? [] : [{ O: [leaf.organization] }])],
    issuer: authority.certificate.subject,
    publicKey: keys.publicKey,
    signingKey: authority.key,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth]),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  await writeKey(pkiFile(instance, `${leaf.name}.key`), keys.privateKey);
  writeFileSync(certificateFile, certificate.toString("pem"));
  writeFileSync(noteFile, issuedFor);
}

function validity(): { notBefore: Date; notAfter: Date } {
  // An hour back: clocks of machines that were just resumed may jump.
  return { notBefore: new Date(Date.now() - 3600_000), notAfter: new Date(Date.now() + VALID_MS) };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return (await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
}

async function writeKey(file: string, key: webcrypto.CryptoKey): Promise<void> {
  mkdirSync(dirname(file), { recursive: true });
  const pem = x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
  writeFileSync(file, pem, { mode: 0o600 });
}
