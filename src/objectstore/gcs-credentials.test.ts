import { expect, test } from "vitest";
import { workloadIdentity } from "#kit/servers/google-cloud.ts";
import { gcsCredentialsOf } from "./gcs-credentials.ts";

const TOKEN = "/var/run/secrets/tokens/gcp/token";
const IMPERSONATION = "/v1/projects/-/serviceAccounts/a@b.iam.gserviceaccount.com:generateAccessToken";
const of = (file: string, fields: object = {}) => gcsCredentialsOf(workloadIdentity(file, fields), "credentials.json");

test.each([TOKEN, "/run/secrets/tokens/token", "/var/run/service-account/token"])(
  "a workload identity federation file may have the token file %s",
  (file) => {
    expect(of(file)).toMatchObject({ credential_source: { file } });
  },
);

test.each([
  "/etc/passwd",
  "/run/secret/token",
  "/run/secrets/../../etc/passwd",
  "/run/secrets/",
  "/var/run/service-accounts/token",
])("a workload identity federation file with the token file %s is refused", (file) => {
  expect(() => of(file)).toThrow(/credential_source\.file .* below \/var\/run\/secrets\/ or \/run\/secrets\/ or /);
});

test.each([
  "https://sts.googleapis.com/v1/token",
  "https://sts.googleapis.com/v1beta/token",
  "https://sts.europe-west3.rep.googleapis.com/v1/token",
  "https://sts-mine.p.googleapis.com/v1/token",
])("a workload identity federation file may have the token URL %s", (token_url) => {
  expect(of(TOKEN, { token_url })).toMatchObject({ token_url });
});

test.each([
  "https://sts.googleapis.com/v2/token",
  "https://storage.googleapis.com/v1/token",
  "https://sts.mine.p.googleapis.com/v1/token",
  "https://sts-mine.rep.googleapis.com/v1/token",
  "https://sts.googleapis.com/v1/token/more",
])("a workload identity federation file with the token URL %s is refused", (token_url) => {
  expect(() => of(TOKEN, { token_url })).toThrow(/^token_url /);
});

test.each([
  ["iamcredentials.googleapis.com", true],
  ["iamcredentials.europe-west3.rep.googleapis.com", true],
  ["iamcredentials-mine.p.googleapis.com", true],
  ["iamcredentials.mine.p.googleapis.com", false],
  ["storage.googleapis.com", false],
])("a workload identity federation file may impersonate a service account at host %s: %s", (host, isTaken) => {
  const fields = { service_account_impersonation_url: `https://${host}${IMPERSONATION}` };
  if (isTaken) expect(of(TOKEN, fields)).toMatchObject(fields);
  else expect(() => of(TOKEN, fields)).toThrow(/^service_account_impersonation_url /);
});

test("a workload identity federation file may have empty headers, and others are refused", () => {
  const source = { file: TOKEN };
  expect(of(TOKEN, { credential_source: { ...source, headers: {} } })).toMatchObject({ credential_source: source });
  expect(() => of(TOKEN, { credential_source: { ...source, headers: { a: "b" } } })).toThrow(/has headers/);
});
