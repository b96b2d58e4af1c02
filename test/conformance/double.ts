/** The API double as a target: over HTTP like any client, with users, and with the same webhook server. */
import { type Authorizer, startApiServer } from "../double/index.ts";
import { HttpClient } from "./http-client.ts";
import { startWebhookServer } from "./reviews.ts";
import { uniqueNames } from "./runner.ts";
import { fencerRules, overHttp, prepare } from "./set-up.ts";
import { type RunningTarget, type Target } from "./target.ts";

const tokens = { admin: "admin-token", fencer: "fencer-token", stranger: "stranger-token" };

const authorizer: Authorizer = (user, verb, group, resource, subresource) => {
  if (user.groups.includes("system:masters")) return true;
  if (user.username !== "fencer") return false;
  const named = subresource === "" ? resource : `${resource}/${subresource}`;
  return fencerRules.some(
    (rule) =>
      rule.apiGroups.some((item) => item === group) &&
      rule.resources.some((item) => item === named) &&
      rule.verbs.some((item) => item === verb),
  );
};

export async function startDoubleTarget(): Promise<RunningTarget> {
  const webhooks = await startWebhookServer();
  const caller = (username: string, ...groups: string[]) => ({ username, groups: [...groups, "system:authenticated"] });
  const server = await startApiServer({
    crds: [],
    authorizer,
    tokens: {
      [tokens.admin]: caller("admin", "system:masters"),
      [tokens.fencer]: caller("fencer"),
      [tokens.stranger]: caller("stranger"),
    },
  });
  const client = new HttpClient({ url: server.url, tokens });
  const target: Target = {
    name: "double",
    ...overHttp(client, webhooks),
    async forgetHistory() {
      server.engine.forgetHistory();
    },
  };
  const unique = uniqueNames("");
  await prepare(target, webhooks, unique);
  return {
    target,
    unique,
    async close() {
      await client.close();
      await server.close();
      await webhooks.close();
    },
  };
}
