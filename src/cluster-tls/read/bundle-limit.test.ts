import { expect, test } from "vitest";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { certificateProblem } from "#cluster-tls/check/certificate-problem.ts";
import { tlsReady } from "#cluster-tls/check/tls-ready.ts";
import { memberTls } from "#cluster-tls/member-tls.ts";
import { authorityOf, whyTooLong } from "#cluster-tls/read/usable.ts";
import { OWN, secured, THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";

// Bundles longer than the limit of an EtcdPeer.

/** Unrelated CAs in PEM, of about this length together. */
function others(length: number): string {
  let pem = "";
  for (let n = 0; pem.length < length; n++)
    pem += `-----BEGIN CERTIFICATE-----\n${Buffer.alloc(300, n).toString("base64")}\n-----END CERTIFICATE-----\n`;
  return pem;
}

const [LONG, HALF] = [others(33_000), others(17_000)];
const secret = { server: { name: "their-server" }, operator: { name: "their-operator" } };
const BROUGHT = {
  peer: { provider: "Secret", secret: { name: "their-peer" } },
  client: { provider: "Secret", secret },
};
const brought = secured({}, BROUGHT, { by: THEIRS, isOurs: false });
const theirs = (trust: string) => ({ by: THEIRS, isOurs: false, trust: THEIRS.pem + trust });

function told(snapshot: ClusterSnapshot): string {
  const verdict = tlsReady({ snapshot, plan: planCluster(snapshot) });
  return `${verdict?.status} ${verdict?.message}`;
}

test.each(["peer", "server"] as const)(
  "a CA bundle in the %s Secret that is too long is reported, and members keep their certificates",
  (purpose) => {
    const given = withMade(brought, { [purpose]: theirs(LONG) });
    expect(told(given)).toMatch(
      /^False Secret foo\/their-\w+, .*: the certificates in its ca.crt have 3\d{4} characters in PEM, and the limit is 32768: remove CAs/,
    );
    expect(planCluster(given).next).toBe("settled");
    expect(memberTls(given)).toBe(brought.peers[0]?.spec.tls);
    const updated = { ...given.cluster, spec: { ...given.cluster.spec, version: "3.6.17" } };
    const [before, after] = [brought, given].map((each) => planCluster({ ...each, cluster: updated }));
    expect(after).toMatchObject({ next: "step", rule: before && "rule" in before ? before.rule : "none" });
  },
);

test("a bundle within the limit is distributed, and the limit does not apply to the operator's bundle", () => {
  expect(planCluster(withMade(brought, { peer: theirs(HALF) })).next).toBe("step");
  const given = withMade(brought, { operator: theirs(LONG) });
  expect(told(given)).toMatch(/^True/);
});

test("a CA with a bundle that is too long is reported, and still signs", () => {
  const given = withMade(secured(), { peerCA: { trust: OWN.pem + LONG } });
  expect(certificateProblem(given, "peerCA")?.message).toMatch(/^Secret foo\/my-etcd-peer-ca, .*the limit is 32768/);
  expect(authorityOf(given, "peer")).toBeDefined();
});

test("a CA bundle may have exactly 32,768 characters", () => {
  expect(whyTooLong("x".repeat(32_768))).toBeUndefined();
  expect(whyTooLong("x".repeat(32_769))).toMatch(/^32769 characters in PEM/);
});
