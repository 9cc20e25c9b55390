import { expect, test } from "vitest";
import { courses } from "#cluster/certificates/course.ts";
import { NOW } from "#kit/cluster.ts";
import { THEIRS, withMade } from "#kit/cluster-tls.ts";
import { turnedClients } from "#kit/cluster-turn.ts";
import { QuickIssuer } from "#kit/quick-certificates.ts";

// Beside excess.test.ts: what members trust by now is read, so that these are real authorities.

const issuer = new QuickIssuer();
const times = { fromMs: NOW - 1_000, untilMs: NOW + 1_000_000_000 };

/** Authorities that have signed nothing, in PEM, of about so many characters in all. */
async function others(length: number): Promise<string> {
  let pem = "";
  while (pem.length < length) pem += (await issuer.newAuthority("other", times)).certificate;
  return pem;
}

const [HALF, OTHER_HALF] = [await others(17_000), await others(17_000)];
const theirs = (trust: string) => ({ by: THEIRS, isOurs: false, trust: THEIRS.pem + trust });

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
