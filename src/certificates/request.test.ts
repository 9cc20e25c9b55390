import { expect, test } from "vitest";
import { hasFailed, isIssued, isOverdue, requestWords } from "#certificates/request.ts";
import { NOW_MS } from "#kit/snapshots/certificates.ts";
import type { Certificate } from "#kube/kinds.ts";

// As cert-manager 1.21 words it.

/** @param agoMs how long ago the condition changed */
function condition(type: string, status: string, reason: string, message: string | undefined, agoMs = 0) {
  const lastTransitionTime = new Date(NOW_MS - agoMs).toISOString();
  return { type, status, reason, lastTransitionTime, ...(message === undefined ? {} : { message }) };
}

const UNREADY = condition("Ready", "False", "DoesNotExist", "Issuing certificate as Secret does not exist");
const ISSUING = condition("Issuing", "True", "DoesNotExist", "Issuing certificate as Secret does not exist");
const READY = condition("Ready", "True", "Ready", "Certificate is up to date and has not expired");
const FAILED = condition("Issuing", "False", "Failed", "it will be retried: signing failed");
const DENIED = condition("Issuing", "False", "policy.example.com", "it will be retried: not for you");
const DONE = condition("Issuing", "False", "Issued", "The certificate has been successfully issued");
const RENEWING = (agoMs: number) => condition("Issuing", "True", "Renewing", "renewal was scheduled", agoMs);
const MINUTE_MS = 60_000;

function asked(conditions: readonly object[] | undefined): Certificate {
  const metadata = { namespace: "foo", name: "a", uid: "u", resourceVersion: "1" };
  const draft = { apiVersion: "cert-manager.io/v1", kind: "Certificate", metadata };
  return { ...draft, ...(conditions === undefined ? {} : { status: { conditions } }) } as Certificate;
}

const MORE = "kubectl -n foo describe certificaterequests shows more";

test.each<[string, readonly object[] | undefined, boolean, boolean, string]>([
  ["nothing yet", undefined, false, false, MORE],
  ["that it issues the certificate", [UNREADY, ISSUING], false, false, `cert-manager reports: Issuing certificate as Secret does not exist; ${MORE}`],
  ["that it has failed", [UNREADY, FAILED], true, true, `cert-manager reports: Issuing certificate as Secret does not exist; it will be retried: signing failed; ${MORE}`],
  ["that an approver has denied it", [READY, DENIED], true, true, `cert-manager reports: it will be retried: not for you; ${MORE}`],
  ["that it has issued the certificate", [READY, DONE], false, false, MORE],
  ["that the certificate is ready, without the condition Issuing", [READY], false, false, MORE],
  ["that it has been renewing for less than five minutes", [READY, RENEWING(5 * MINUTE_MS - 1)], false, false, `cert-manager reports: renewal was scheduled; ${MORE}`],
  ["that it has been renewing for five minutes", [READY, RENEWING(5 * MINUTE_MS)], false, true, `cert-manager reports: renewal was scheduled; ${MORE}`],
  ["that the certificate has been ready for long", [condition("Ready", "True", "Ready", "good", 5 * MINUTE_MS)], false, false, MORE],
  ["that the certificate has not been ready for long", [condition("Ready", "False", "Expired", "it has ended", 5 * MINUTE_MS)], false, false, `cert-manager reports: it has ended; ${MORE}`],
  ["that it renews the certificate since an unknown time", [{ type: "Issuing", status: "True" }], false, false, MORE],
  ["conditions without a message", [condition("Ready", "False", "a", undefined), condition("Issuing", "False", "Failed", "")], true, true, MORE],
])("failure, delay and message are right when cert-manager reports %s", (_, conditions, failed, overdue, words) => {
  expect(hasFailed(asked(conditions))).toBe(failed);
  expect(isOverdue(asked(conditions), NOW_MS)).toBe(overdue);
  expect(requestWords(asked(conditions))).toBe(words);
}); // biome-ignore format: a table

test.each<[string, readonly object[] | undefined, boolean]>([
  ["is not fulfilled while cert-manager reports nothing", undefined, false],
  ["is not fulfilled while cert-manager issues the certificate", [UNREADY, ISSUING], false],
  ["is fulfilled once cert-manager has issued the certificate", [READY, DONE], true],
  ["is fulfilled while cert-manager renews the certificate", [READY, RENEWING(0)], true],
])("a certificate request %s", (_, conditions, is) => {
  expect(isIssued(asked(conditions))).toBe(is);
}); // biome-ignore format: a table
