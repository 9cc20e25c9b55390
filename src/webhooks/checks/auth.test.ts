import { expect, test } from "vitest";
import type { EtcdCluster } from "#api/v1beta1/cluster.ts";
import { cluster } from "#kit/snapshots/cluster.ts";
import { guarded, withAuth } from "#kit/snapshots/cluster-auth.ts";
import { secured } from "#kit/snapshots/cluster-tls.ts";
import { authRefusals } from "#webhooks/checks/auth.ts";

const plain = cluster().cluster;
const secure = secured().cluster;
const unverified = secured({}, { client: { clientCertificates: "NotRequired" } }).cluster;
const on = guarded({ recorded: true }).cluster;
const wanting = (of: EtcdCluster, enabled = true): EtcdCluster => ({ ...of, spec: { ...of.spec, auth: { enabled } } });
const fresh = leftOpen(cluster({ stage: "new" }).cluster);
/** A copy without spec.tls. */
function leftOpen(of: EtcdCluster): EtcdCluster {
  const { tls: _, ...spec } = of.spec;
  return { ...of, spec };
}
const NEED = /^it is true; it needs spec\.tls\.client .* clientCertificates Required/;

test.each<{ name: string; is: EtcdCluster; was?: EtcdCluster; refused?: readonly [string, RegExp] }>([
  { name: "auth is accepted with client certificates", is: wanting(secure), was: secure },
  {
    name: "auth is refused in an existing cluster without TLS",
    is: wanting(plain),
    was: plain,
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "auth is accepted in a new cluster without spec.tls", is: wanting(fresh) },
  {
    name: "auth is refused in a new cluster that does not verify client certificates",
    is: wanting(unverified),
    refused: ["spec.auth.enabled", NEED],
  },
  { name: "an unchanged spec is accepted that has auth without TLS", is: wanting(plain), was: wanting(plain) },
  { name: "disabled auth is accepted without TLS", is: wanting(plain, false), was: plain },
  {
    name: "disabling client certificates is refused while auth is enabled",
    is: { ...on, spec: { ...on.spec, tls: unverified.spec.tls! } },
    was: on,
    refused: ["spec.auth.enabled", NEED],
  },
  {
    name: "disabling client certificates is refused when the edit also omits spec.auth",
    is: { ...unverified, status: on.status! },
    was: on,
    refused: [
      "spec.tls.client",
      /set spec\.auth\.enabled to false first, and wait until status\.auth\.enabled is false/,
    ],
  },
  { name: "disabling client certificates is accepted without auth", is: unverified, was: secure },
  {
    name: "disabling client certificates is accepted after auth was disabled",
    is: unverified,
    was: withAuth(secured(), { wanted: false, recorded: false }).cluster,
  },
])("$name", ({ is, was, refused }) => {
  const found = authRefusals(is, was);
  expect(found.map(({ field }) => field)).toEqual(refused === undefined ? [] : [refused[0]]);
  if (refused !== undefined) expect(found[0]?.message).toMatch(refused[1]);
});
