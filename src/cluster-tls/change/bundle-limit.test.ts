import { expect, test } from "vitest";
import { providerChanges } from "#cluster-tls/change/provider-change.ts";
import { QuickIssuer } from "#kit/etcd/quick-certificates.ts";
import { NOW } from "#kit/snapshots/cluster.ts";
import { THEIRS, withMade } from "#kit/snapshots/cluster-tls.ts";
import { turnedClients } from "#kit/snapshots/provider-change.ts";
import { stageOf } from "#kit/snapshots/tls-stage.ts";

// Complements excess.test.ts: the trust of members is parsed, so these are real CAs.

const issuer = new QuickIssuer();
const times = { fromMs: NOW - 1_000, untilMs: NOW + 1_000_000_000 };

/** Unrelated CAs in PEM, of about this length together. */
async function others(length: number): Promise<string> {
  let pem = "";
  while (pem.length < length) pem += (await issuer.newAuthority("other", times)).certificate;
  return pem;
}

const [HALF, OTHER_HALF] = [await others(17_000), await others(17_000)];
const theirs = (trust: string) => ({ by: THEIRS, isOurs: false, trust: THEIRS.pem + trust });

test("a provider change waits while the CA bundle of both sources together is too long", () => {
  expect(stageOf(providerChanges(turnedClients).client)).toBe("AcceptBoth");
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
  expect(providerChanges(given).client).toMatchObject({
    round: "Prepare",
    waitsFor: expect.stringMatching(
      /^the certificates in ca.crt of Secret their-server and those that members trust now have 3\d{4} characters/,
    ),
  });
  expect(stageOf(providerChanges(withMade(turnedClients, { server: theirs(OTHER_HALF) })).client)).toBe("AcceptBoth");
});
