import { z } from "zod";

/** The API server refuses a rule that may become expensive. */
const MAX_LENGTH = 600;
/** What stands between the braces of Go's templates; `{{-` and `-}}` would take white space away, of which a URL has none. */
const KNOWN = "-? *[.](Namespace|Name|UID|CreationTimestamp) *-?";
const ANY = "[{]{2}[^}]*[}]{2}";
const IS_KNOWN = `each.matches('[{]${KNOWN}}')`;
const MAY = "it may have {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }}";

/** Both versions take the same; src/api/object-url.ts reads it. */
export const objectURLTemplateSchema = z
  .string()
  .min(1)
  .max(MAX_LENGTH)
  .meta({
    "x-kubernetes-validations": [
      {
        rule: `self.findAll('${ANY}').all(each, ${IS_KNOWN})`,
        messageExpression: `'the template has ' + self.findAll('${ANY}').filter(each, !${IS_KNOWN})[0] + '; ${MAY}'`,
        message: `the template has something else; ${MAY}`,
      },
      {
        rule: `self.matches('^([{]{2}${KNOWN}[}]{2}|[^{}])*$')`,
        message: `the template has a brace that belongs to no placeholder; ${MAY}`,
      },
    ],
  })
  .describe(
    "URL of the object, such as s3://bucket/{{ .Namespace }}/{{ .Name }}.db?region=eu-west-1, gs://bucket/{{ .UID }}.db or azblob://container/backup.db?storage_account=mine. {{ .Namespace }}, {{ .Name }}, {{ .UID }} and {{ .CreationTimestamp }} are those of the EtcdBackup.",
  );
