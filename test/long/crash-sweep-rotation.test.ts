import { expect } from "vitest";
import {
  applicationCertificateName,
  CERTIFICATE_FILE,
  clientAuthorityName,
  operatorCertificateName,
  ROTATE_CA_ANNOTATIONS,
  ROTATED_FOR_ANNOTATION,
  serverCertificateName,
  TRUST_FILE,
  trustConfigMapName,
} from "#api/names.ts";
import { DEFAULT_TLS } from "#api/tls.ts";
import { certificatesIn, idOf, parsedIn } from "#certificates/pem.ts";
import { mustHaveItsData, readyWith, testSweeps } from "#kit/sweeps/crash-sweep.ts";
import type { Scenario } from "#kit/sweeps/operator-sweep.ts";
import type { World } from "#kit/sweeps/operator-world.ts";
import type { ConfigMap, Secret } from "#kube/kinds.ts";

const NAME = "my-etcd";
const SIGNED = [serverCertificateName, operatorCertificateName, applicationCertificateName].map((name) => name(NAME));

// One rotation of a CA. tls-history.test.ts covers several members; a single member causes each kind of write. The
// operator itself is a client under the clients' CA: with a wrong certificate or bundle it would never reach its member
// again.
const rotation: Scenario = {
  name: "rotation",
  // The member gets another pod for each of the three steps.
  mayBeMadeAnew: (object) => object.startsWith("Pod "),
  withinMs: 240_000,
  // Kubelets here reread Secrets after ten seconds at the latest.
  faults: { rereadWithinMs: 20_000 },
  oneIn: 2,
  lanes: 4,
  prepare: (world) => readyWith(world, 1, { tls: DEFAULT_TLS }),
  act: async (world) => {
    await world.kubectl("annotate", "etcdcluster", NAME, `${ROTATE_CA_ANNOTATIONS.client}=1`);
  },
  settled: mustBeFollowed,
  async holds(world) {
    await mustHaveItsData(world);
    await mustBeSignedByIt(world);
  },
};

async function secretOf(world: World, name: string): Promise<Secret> {
  return await world.json<Secret>("get", "secret", name);
}

function textIn({ data }: Secret, file: string): string {
  return Buffer.from(data?.[file] ?? "", "base64").toString();
}

/** The new CA signs, and no member trusts the previous one any more. */
async function mustBeFollowed(world: World): Promise<void> {
  await world.mustBeReady();
  const { status } = await world.get();
  expect(status).not.toHaveProperty("update");
  const authority = await secretOf(world, clientAuthorityName(NAME));
  expect(authority.metadata.annotations).toMatchObject({ [ROTATED_FOR_ANNOTATION]: "1" });
  const trust = textIn(authority, TRUST_FILE);
  expect(certificatesIn(trust)).toHaveLength(1);
  const peer = await world.json<{ spec: { tls?: { client?: { trust: string } } } }>("get", "etcdpeer", `${NAME}-0`);
  expect(certificatesIn(peer.spec.tls?.client?.trust ?? "")).toEqual(certificatesIn(trust));
}

/** All certificates are signed by the new CA, and all bundles contain only that one. */
async function mustBeSignedByIt(world: World): Promise<void> {
  const authority = await secretOf(world, clientAuthorityName(NAME));
  const [signer] = parsedIn(textIn(authority, CERTIFICATE_FILE));
  for (const name of SIGNED) {
    const secret = await secretOf(world, name);
    const [leaf] = parsedIn(textIn(secret, CERTIFICATE_FILE));
    expect(signer !== undefined && leaf?.verify(signer.publicKey), name).toBe(true);
    expect(parsedIn(textIn(secret, TRUST_FILE)).map(idOf), name).toEqual([signer && idOf(signer)]);
  }
  const map = await world.json<ConfigMap>("get", "configmap", trustConfigMapName(NAME));
  expect(parsedIn(map.data?.[TRUST_FILE] ?? "").map(idOf)).toEqual([signer && idOf(signer)]);
}

testSweeps([
  {
    scenario: rotation,
    mustWrite: [
      `PUT secrets/${clientAuthorityName(NAME)}`,
      ...SIGNED.map((name) => `PUT secrets/${name}`),
      `PUT configmaps/${trustConfigMapName(NAME)}`,
      `PUT etcdpeers/${NAME}-0`,
      `DELETE pods/${NAME}-0`,
    ],
  },
]);
