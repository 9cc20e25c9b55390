import { expect, test } from "vitest";
import { courses } from "#cluster/certificates/course.ts";
import { faultOf } from "#cluster/certificates/fault.ts";
import { authorityOf } from "#cluster/certificates/usable.ts";
import { memberTls } from "#cluster/certificates.ts";
import { tlsReady } from "#cluster/conditions/tls-ready.ts";
import { planCluster } from "#cluster/plan.ts";
import type { ClusterSnapshot } from "#cluster/snapshot.ts";
import { NOW } from "#kit/cluster.ts";
import { OWN, secured, THEIRS, withMade } from "#kit/cluster-tls.ts";
import { turnedClients } from "#kit/cluster-turn.ts";
import { QuickIssuer } from "#kit/quick-certificates.ts";

// More is to be trusted than an EtcdPeer can say.

const issuer = new QuickIssuer();
const times = { fromMs: NOW - 1_000, untilMs: NOW + 1_000_000_000 };

/** Authorities that have signed nothing, in PEM, of about so many characters in all. */
async function others(length: number): Promise<string> {
  let pem = "";
  while (pem.length < length) pem += (await issuer.newAuthority("other", times)).certificate;
  return pem;
}

const [LONG, HALF, OTHER_HALF] = [await others(33_000), await others(17_000), await others(17_000)];
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

test("what is asked for is waited for while both are too much", () => {
  expect(courses(turnedClients).client.at).toBe("trust");
  const peers = turnedClients.peers.map((peer) => {
    const { peer: side, client, ...rest } = peer.spec.tls!;
    return {
      ...peer,
      spec: {
        ...peer.spec,
        tls: { ...rest, ...(side && { peer: side }), client: { ...client!, trust: client!.trust + HALF } },
      },
    };
  });
  const given = withMade({ ...turnedClients, peers }, { server: theirs(OTHER_HALF) });
  expect(courses(given).client).toMatchObject({
    at: "waiting",
    why: expect.stringMatching(
      /^the certificates in ca.crt of Secret their-server and those that members trust by now are 3\d{4} characters/,
    ),
  });
  expect(courses(withMade(turnedClients, { server: theirs(OTHER_HALF) })).client.at).toBe("trust");
});
