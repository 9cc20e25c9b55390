import { X509Certificate } from "node:crypto";
import { describe, expect, test } from "vitest";
import { addressText, factsOf } from "#certificates/facts.ts";
import { idOf, type KeyPair } from "#certificates/pem.ts";
import { authority, DAY_MS, dataOf, leaf, NOW_MS, secretOf, withUnknownKey } from "#kit/certificates.ts";
import { intermediate, renewed } from "#kit/certified-authority.ts";

const ca = await authority();
const other = await authority("another CA");
const pair = await leaf(ca);
const id = ({ certificate }: KeyPair) => idOf(new X509Certificate(certificate));
const good = dataOf(pair, ca.certificate + other.certificate);

describe("a Secret with a certificate", () => {
  test("says all that anybody may know of it", () => {
    const owner = { ownerReferences: [{ apiVersion: "a", kind: "b", name: "c", uid: "owner", controller: true }] };
    expect(factsOf(secretOf("my-etcd-peer-tls", good, owner), "leaf")).toEqual({
      secretName: "my-etcd-peer-tls",
      uid: "uid-of-my-etcd-peer-tls",
      resourceVersion: "1",
      ownerUid: "owner",
      notBeforeMs: NOW_MS - DAY_MS,
      notAfterMs: NOW_MS + 90 * DAY_MS,
      lifeMs: 91 * DAY_MS,
      fingerprint: id(pair),
      issuerName: new X509Certificate(ca.certificate).subject,
      commonName: "",
      names: ["*.my-etcd.foo.svc", "localhost", "127.0.0.1", "::1"],
      usages: ["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"],
      trust: ca.certificate + other.certificate,
      trustIds: [id(ca), id(other)],
      signerId: id(ca),
      nextId: undefined,
      rotatedFor: undefined,
      certificateName: undefined,
      madeFor: undefined,
      mayBeShown: false,
      trouble: undefined,
    });
  });

  test("and whether EtcdClusters may have it", () => {
    const labels = { "etcd.improbable.io/tls": "true" };
    expect(factsOf(secretOf("a", good, { labels }), "leaf").mayBeShown).toBe(true);
  });

  test("and which Certificate of cert-manager it is", () => {
    const annotations = { "cert-manager.io/certificate-name": "my-etcd-peer-tls" };
    expect(factsOf(secretOf("a", good, { annotations }), "leaf").certificateName).toBe("my-etcd-peer-tls");
  });

  test("and not one word of its key", () => {
    const told = JSON.stringify(factsOf(secretOf("a", { ...good, "next.key": other.key }), "leaf"));
    for (const key of [pair.key, other.key]) {
      const [, line = ""] = key.split("\n");
      expect(line.length).toBeGreaterThan(20);
      expect(told).not.toContain(line);
      expect(told).not.toContain("PRIVATE");
    }
  });

  const short = { fromMs: NOW_MS - DAY_MS, untilMs: NOW_MS + DAY_MS };
  test("that comes with a chain ends with the first of them", async () => {
    const ended = await leaf(ca, short);
    const chain = { ...good, "tls.crt": pair.certificate + ended.certificate };
    expect(factsOf(secretOf("a", chain), "leaf").notAfterMs).toBe(NOW_MS + DAY_MS);
  });

  const cases: { name: string; with: Record<string, string>; trouble: string | undefined }[] = [
    { name: "whole", with: {}, trouble: undefined },
    { name: "half a pair: no key", with: { "tls.key": "" }, trouble: "it has no tls.key" },
    { name: "half a pair: no certificate", with: { "tls.crt": "" }, trouble: "it has no tls.crt" },
    { name: "nobody to trust", with: { "ca.crt": " \n" }, trouble: "it has no ca.crt" },
    { name: "no certificate", with: { "tls.crt": "x" }, trouble: "its tls.crt is no certificate in PEM" },
    { name: "nobody in PEM", with: { "ca.crt": "x" }, trouble: "its ca.crt is no certificate in PEM" },
    { name: "another key", with: { "tls.key": other.key }, trouble: "its tls.key is not the key of its tls.crt" },
    { name: "no key", with: { "tls.key": "x" }, trouble: "its tls.key is not the key of its tls.crt" },
    {
      name: "an authority that did not sign",
      with: { "ca.crt": other.certificate },
      trouble: "its tls.crt is signed by none of its ca.crt",
    },
  ];
  test.each(cases)("tells what is wrong with it: $name", ({ with: changed, trouble }) => {
    expect(factsOf(secretOf("a", { ...good, ...changed }), "leaf").trouble).toBe(trouble);
  });

  test("is good by one authority, although nobody knows the kind of another one's key", () => {
    const unknown = withUnknownKey(ca.certificate);
    const facts = factsOf(secretOf("a", dataOf(pair, unknown + ca.certificate)), "leaf");
    expect(facts).toMatchObject({ trouble: undefined, signerId: id(ca) });
    expect(facts.trustIds).toHaveLength(2);
    expect(factsOf(secretOf("a", dataOf(pair, unknown)), "leaf").trouble).toBe(
      "its tls.crt is signed by none of its ca.crt",
    );
  });

  test("without any data is in trouble, and says nothing else", () => {
    const { data: _, ...empty } = secretOf("a", {});
    expect(factsOf(empty, "leaf")).toMatchObject({
      trouble: "it has no tls.crt",
      notAfterMs: 0,
      fingerprint: "",
      trust: "",
    });
  });
});

describe("the time of a certificate", () => {
  const during = (first: number, last: number) => ({
    fromMs: NOW_MS + first * DAY_MS,
    untilMs: NOW_MS + last * DAY_MS,
  });
  /** Its first and its last day. */
  const daysOf = (shown: KeyPair, ...trust: readonly KeyPair[]) => {
    const all = trust.map(({ certificate }) => certificate).join("");
    const { notBeforeMs, notAfterMs, trouble } = factsOf(secretOf("a", dataOf(shown, all)), "leaf");
    return trouble ?? [notBeforeMs, notAfterMs].map((ms) => (ms - NOW_MS) / DAY_MS);
  };
  const OWN = [-1, 90];

  test("is within that of the authority that has signed it", async () => {
    expect(daysOf(pair, ca)).toEqual(OWN);
    expect(daysOf(pair, await renewed(ca, during(-400, -1)))).toEqual([-1, -1]);
    expect(daysOf(pair, await renewed(ca, during(5, 500)))).toEqual([5, 90]);
  });

  test("is within that of the best one of this name and key, whichever stands first", async () => {
    const [ended, soon] = [await renewed(ca, during(-400, -1)), await renewed(ca, during(-400, 7))];
    const later = await renewed(ca, during(5, 500));
    expect(daysOf(pair, ended, ca)).toEqual(OWN);
    expect(daysOf(pair, ca, ended)).toEqual(OWN);
    expect(daysOf(pair, soon, ended)).toEqual([-1, 7]);
    expect(daysOf(pair, soon, later)).toEqual(OWN);
  });

  test("was made for as long as what lives shortest of that which it takes", async () => {
    const lifeOf = (shown: KeyPair, ...trust: readonly KeyPair[]) => {
      const all = trust.map(({ certificate }) => certificate).join("");
      return factsOf(secretOf("a", dataOf(shown, all)), "leaf").lifeMs / DAY_MS;
    };
    expect(lifeOf(pair, ca)).toBe(91);
    expect(lifeOf(pair, await renewed(ca, during(-1, 6)))).toBe(7);
    expect(lifeOf(pair, await renewed(ca, during(-1, 6)), ca)).toBe(91);
    const between = await intermediate(ca, during(-1, 29));
    const single = await leaf(between);
    expect(lifeOf({ ...pair, certificate: pair.certificate + between.certificate }, ca)).toBe(30);
    expect(lifeOf(single, between)).toBe(30);
  });

  test("is nothing to whoever else is trusted, such as the authority before", async () => {
    expect(daysOf(pair, await renewed(other, during(-400, -1)), ca)).toEqual(OWN);
  });

  test("is within that of all that are shown, and of the root above them; unless who has signed it is trusted, too", async () => {
    const between = await intermediate(ca, during(-1, 60));
    const single = await leaf(between);
    const chain = { ...single, certificate: single.certificate + between.certificate };
    const ended = await renewed(ca, during(-400, 3));
    expect(daysOf(chain, ca)).toEqual([-1, 60]);
    expect(daysOf(chain, ended)).toEqual([-1, 3]);
    expect(daysOf(chain, ended, between)).toEqual([-1, 60]);
    expect(daysOf(chain, await renewed(between, during(-400, -1)), ca)).toEqual([-1, 60]);
    expect(daysOf(single, ended, between)).toEqual([-1, 60]);
  });
});

describe("the Secret of an authority", () => {
  const own = dataOf(ca, ca.certificate);
  const both = {
    ...own,
    "ca.crt": ca.certificate + other.certificate,
    "next.crt": other.certificate,
    "next.key": other.key,
  };
  test("says which one is to follow, and by whose wish the last one did", () => {
    const annotations = { "etcd.improbable.io/rotated-for": "all" };
    const facts = factsOf(secretOf("a", both, { annotations }), "authority");
    expect(facts).toMatchObject({
      trouble: undefined,
      nextId: id(other),
      rotatedFor: "all",
      trustIds: [id(ca), id(other)],
    });
  });

  const cases: { name: string; data: Record<string, string>; trouble: string | undefined }[] = [
    { name: "whole", data: own, trouble: undefined },
    { name: "a leaf", data: good, trouble: "its tls.crt is no authority that signs itself" },
    {
      name: "not in its own bundle",
      data: dataOf(ca, other.certificate),
      trouble: "its tls.crt is not among its ca.crt",
    },
    {
      name: "half of a next one",
      data: { ...own, "next.key": other.key },
      trouble: "it has next.key without next.crt",
    },
    {
      name: "a next one with another key",
      data: { ...both, "next.key": ca.key },
      trouble: "its next.key is not the key of its next.crt",
    },
  ];
  test.each(cases)("tells what is wrong with it: $name", ({ data, trouble }) => {
    expect(factsOf(secretOf("a", data), "authority").trouble).toBe(trouble);
  });
});

test("addresses are written in one way", () => {
  expect(["127.0.0.1", "0:0:0:0:0:0:0:1", "FD00::0001", "x:y"].map(addressText)).toEqual([
    "127.0.0.1",
    "::1",
    "fd00::1",
    "x:y",
  ]);
});
