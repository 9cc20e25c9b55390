import { expect, test } from "vitest";
import { faultOf } from "#cluster/certificates/fault.ts";
import { authorityOf, whyTooLong } from "#cluster/certificates/usable.ts";
import { memberTls } from "#cluster/certificates.ts";
import { tlsReady } from "#cluster/conditions/tls-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { OWN, secured, THEIRS, withMade } from "#kit/cluster-tls.ts";

// More is to be trusted than an EtcdPeer can say.

/** What looks like authorities that have signed nothing, in PEM, of about so many characters in all. */
function others(length: number): string {
  let pem = "";
  for (let n = 0; pem.length < length; n++)
    pem += `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(300, n).toString("base64")}\n-----END CERTIFICATE-----\n`;
  return pem;
}

const [LONG, HALF] = [others(33_000), others(17_000)];
const secret = { serverSecretName: "their-server", operatorClientSecretName: "their-operator" };
const BROUGHT = {
  peer: { provider: "Secret", secret: { secretName: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { by: THEIRS, isOurs: false });
const theirs = (trust: string) => ({ by: THEIRS, isOurs: false, trust: THEIRS.pem + trust });

function told(snapshot: ClusterSnapshot): string {
  const verdict = tlsReady({ snapshot, plan: planCluster(snapshot) });
  return `${verdict?.status} ${verdict?.message}`;
}

test.each(["peer", "server"] as const)("of the Secret of %s it is told, and all go on as they are", (purpose) => {
  const given = withMade(brought, { [purpose]: theirs(LONG) });
  expect(told(given)).toMatch(
    /^False Secret foo\/their-\w+, .*: the certificates in its ca.crt are 3\d{4} characters in PEM, and members can be given no more than 32768: leave out/,
  );
  expect(planCluster(given).next).toBe("settled");
  expect(memberTls(given)).toBe(brought.peers[0]?.spec.tls);
  const updated = { ...given.cluster, spec: { ...given.cluster.spec, version: "3.6.17" } };
  const [before, after] = [brought, given].map((each) => planCluster({ ...each, cluster: updated }));
  expect(after).toMatchObject({ next: "step", rule: before && "rule" in before ? before.rule : "none" });
});

test("a bundle that members can be given they are given; what they are not given may be as long as it likes", () => {
  expect(planCluster(withMade(brought, { peer: theirs(HALF) })).next).toBe("step");
  const given = withMade(brought, { operator: theirs(LONG) });
  expect(told(given)).toMatch(/^True/);
});

test("an authority that says so is told of, and goes on to sign", () => {
  const given = withMade(secured(), { peerCA: { trust: OWN.pem + LONG } });
  expect(faultOf(given, "peerCA")?.message).toMatch(/^Secret foo\/my-etcd-peer-ca, .*no more than 32768/);
  expect(authorityOf(given, "peer")).toBeDefined();
});

test("as many characters as members can be given are not too many", () => {
  expect(whyTooLong("x".repeat(32_768))).toBeUndefined();
  expect(whyTooLong("x".repeat(32_769))).toMatch(/^32769 characters in PEM/);
});
