import { S3_ACCESS } from "./versitygw.ts";

// Answers of the token services of Amazon and Azure.

/** Amazon's answer for a web identity: keys of the tests' S3 server, which refuses session tokens. */
export function stsAnswer(): string {
  const keys = `<AccessKeyId>${S3_ACCESS.id}</AccessKeyId><SecretAccessKey>${S3_ACCESS.secret}</SecretAccessKey>`;
  const until = new Date(Date.now() + 3_600_000).toISOString();
  return `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>${keys}<Expiration>${until}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
}

/** Amazon's refusal. */
export function stsRefusal(code: string, message: string): string {
  return `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`;
}

/** Azure's answer with an unsigned token: Azurite checks only its claims. */
export function azureTokenAnswer(): string {
  const nowS = Math.floor(Date.now() / 1000);
  const claims = {
    aud: "https://storage.azure.com",
    iss: "https://sts.windows.net/tests/",
    nbf: nowS - 60,
    iat: nowS - 60,
  };
  const parts = [
    { alg: "none", typ: "JWT" },
    { ...claims, exp: nowS + 3600 },
  ];
  const token = `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.unsigned`;
  return JSON.stringify({ access_token: token, token_type: "Bearer", expires_in: 3600 });
}
