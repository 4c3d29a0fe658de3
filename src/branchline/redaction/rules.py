r"""The table of tokens that are recognized by their form.

Each :class:`Rule` has a kind, the literal prefixes of such tokens, the pattern of the rest, and the source of
these facts. Tokens without a fixed prefix have a literal in the middle (``…-us12``, ``….atlasv1.…``); for
these, :class:`Inner` has the literal and the full pattern.

Sources: ``gitleaks`` names a rule of the public gitleaks rule set, from which prefix, length and alphabet were
taken; ``vendor`` is the documentation of the service, or keys that it issues; ``spec`` is a published
specification. The patterns were written for branchline.

Lengths are lower bounds on purpose: vendors lengthen their tokens, and a longer token must be redacted fully.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["INNER", "RULES", "Inner", "Rule"]


class Rule(NamedTuple):
    """Tokens of one kind with a literal prefix."""

    kind: str
    heads: tuple[str, ...]
    body: str
    source: str
    words: bool = False
    """Identifiers can have this form too, so the body must not consist of words."""


class Inner(NamedTuple):
    """Tokens of one kind without a fixed prefix, but with a known literal in the middle."""

    kind: str
    sign: str
    """One character of the token, at most ``lead`` characters after its start."""
    around: str
    """The condition around the sign, as assertions matched right after it."""
    lead: int
    pattern: str
    source: str
    group: bool = False
    """Replace only the group of the pattern."""


_AN = "[0-9A-Za-z]"
_HEX = "[0-9a-f]"
_UUID = r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"
_URL64 = r"[\w-]"
_B64 = "[0-9A-Za-z+/]"
_SLASH = r"(?:\\*/|%2[Ff])"

RULES: tuple[Rule, ...] = (
    # -- models -------------------------------------------------------------------------------------------
    Rule("anthropic-key", ("sk-ant-",), rf"(?:[a-z]+\d\d-)?{_URL64}{{20,}}+", "gitleaks: anthropic-api-key", words=True),
    Rule("openrouter-key", ("sk-or-",), rf"(?:v\d-)?{_URL64}{{20,}}+", "vendor: OpenRouter", words=True),
    Rule("langfuse-key", ("sk-lf-",), _UUID, "vendor: Langfuse"),
    Rule("openai-key", ("sk-",), rf"(?:(?:proj|svcacct|admin|None|service)-)?{_URL64}{{20,}}+", "gitleaks: openai-api-key; vendor: DeepSeek, Moonshot and others use the same form", words=True),
    Rule("openai-key", ("sess-",), rf"{_AN}{{40,}}+", "vendor: OpenAI session keys"),
    Rule("google-key", ("AIza",), rf"{_URL64}{{35,}}+", "gitleaks: gcp-api-key"),
    Rule("google-key", ("AQ.Ab",), rf"{_URL64}{{40,}}+", "vendor: Gemini API"),
    Rule("google-token", ("ya29.", "GOCSPX-"), r"[\w.-]{24,}+", "vendor: Google OAuth", words=True),
    Rule("google-token", ("1//",), rf"{_URL64}{{40,}}+", "vendor: Google OAuth refresh tokens"),
    Rule("google-token", ("4/0A",), rf"{_URL64}{{50,}}+", "vendor: Google OAuth codes"),
    Rule("xai-key", ("xai-",), rf"{_URL64}{{32,}}+", "vendor: xAI", words=True),
    Rule("groq-key", ("gsk_",), rf"{_AN}{{32,}}+", "vendor: Groq"),
    Rule("huggingface-token", ("hf_", "api_org_"), rf"{_AN}{{30,}}+", "gitleaks: huggingface-access-token, huggingface-organization-api-token"),
    Rule("replicate-token", ("r8_",), rf"{_AN}{{32,}}+", "vendor: Replicate"),
    Rule("perplexity-key", ("pplx-",), rf"{_AN}{{32,}}+", "gitleaks: perplexity-api-key"),
    Rule("fireworks-key", ("fw_",), rf"{_AN}{{20,}}+", "vendor: Fireworks", words=True),
    Rule("together-key", ("tgp_v1_",), rf"{_URL64}{{40,}}+", "vendor: Together"),
    Rule("elevenlabs-key", ("sk_",), rf"{_HEX}{{48,}}+", "vendor: ElevenLabs"),
    Rule("nvidia-key", ("nvapi-",), rf"{_URL64}{{40,}}+", "vendor: NVIDIA NIM", words=True),
    Rule("cerebras-key", ("csk-",), rf"{_AN}{{32,}}+", "vendor: Cerebras"),
    Rule("tavily-key", ("tvly-",), rf"{_URL64}{{24,}}+", "vendor: Tavily", words=True),
    Rule("langsmith-key", ("lsv2_pt_", "lsv2_sk_"), rf"{_AN}{{32}}_{_AN}{{10}}", "vendor: LangSmith"),
    Rule("langsmith-key", ("ls__",), rf"{_HEX}{{32}}", "vendor: LangSmith, older keys"),
    Rule("voyage-key", ("pa-",), rf"{_URL64}{{43}}(?!{_URL64})", "vendor: Voyage AI", words=True),
    Rule("jina-key", ("jina_",), rf"{_URL64}{{50,}}+", "vendor: Jina AI", words=True),
    Rule("firecrawl-key", ("fc-",), rf"{_HEX}{{32}}(?![\w-])", "vendor: Firecrawl"),
    Rule("e2b-key", ("e2b_",), rf"{_HEX}{{40}}", "vendor: E2B"),
    Rule("runpod-key", ("rpa_",), r"[0-9A-Z]{30,}[0-9A-Za-z]*+", "vendor: RunPod"),
    Rule("pinecone-key", ("pcsk_",), r"\w{40,}+", "vendor: Pinecone", words=True),
    Rule("wandb-key", ("wandb_v1_",), rf"{_URL64}{{40,}}+", "vendor: Weights & Biases", words=True),
    Rule("modal-token", ("ak-", "as-"), rf"{_AN}{{22}}(?![\w-])", "vendor: Modal", words=True),
    Rule("anyscale-key", ("esecret_",), rf"{_AN}{{24,}}+", "vendor: Anyscale"),
    Rule("mem0-key", ("m0-",), rf"{_AN}{{40}}(?!{_AN})", "vendor: Mem0"),
    Rule("browserbase-key", ("bb_live_", "bb_test_"), rf"{_URL64}{{20,}}+", "vendor: Browserbase", words=True),
    Rule("apify-token", ("apify_api_",), rf"{_AN}{{30,}}+", "vendor: Apify"),
    Rule("helicone-key", ("sk-helicone-",), rf"{_URL64}{{20,}}+", "vendor: Helicone", words=True),
    Rule("aws-bedrock-key", ("ABSK",), rf"{_B64}{{100,}}+={{0,2}}", "gitleaks: aws-amazon-bedrock-api-key-long-lived"),
    Rule("aws-bedrock-key", ("bedrock-api-key-",), rf"{_B64}{{28,}}+={{0,2}}", "gitleaks: aws-amazon-bedrock-api-key-short-lived"),
    Rule("cursor-key", ("key_",), rf"{_HEX}{{64}}(?!\w)", "vendor: Cursor"),
    Rule("turbopuffer-key", ("tpuf_",), rf"{_AN}{{30,}}+", "vendor: turbopuffer"),
    # -- source code, packages, builds --------------------------------------------------------------------
    Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_AN}{{30,}}+(?:[._-][\w-]{{16,}}+){{0,4}}+", "gitleaks: github-pat, github-oauth, github-app-token, github-refresh-token"),
    Rule("github-token", ("github_pat_",), r"\w{22,}+", "gitleaks: github-fine-grained-pat", words=True),
    Rule("gitlab-token", ("glpat-", "gloas-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glwt-", "glsoat-", "glffct-"), rf"{_URL64}{{20,}}+(?:\.[0-9a-z]{{2}}\.?[0-9a-z]{{7,9}})?", "gitleaks: gitlab-pat and eleven more; vendor: GitLab token prefixes", words=True),
    Rule("gitlab-token", ("GR1348941",), rf"{_URL64}{{20,}}+", "gitleaks: gitlab-rrt"),
    Rule("atlassian-token", ("ATATT3", "ATSTT3", "ATOA"), r"[\w=-]{60,}+", "gitleaks: atlassian-api-token"),
    Rule("bitbucket-token", ("ATBB",), rf"{_AN}{{28,}}+", "vendor: Bitbucket app passwords"),
    Rule("bitbucket-token", ("ATCTT3",), r"[\w=-]{60,}+", "vendor: Bitbucket access tokens"),
    Rule("trello-token", ("ATTA",), rf"{_HEX}{{60,}}[0-9A-Fa-f]*+", "vendor: Trello"),
    Rule("npm-token", ("npm_",), rf"{_AN}{{36,}}+", "gitleaks: npm-access-token"),
    Rule("pypi-token", ("pypi-AgE",), rf"{_URL64}{{40,}}+", "gitleaks: pypi-upload-token"),
    Rule("rubygems-key", ("rubygems_",), rf"{_HEX}{{48}}", "gitleaks: rubygems-api-token"),
    Rule("crates-token", ("cio",), rf"{_AN}{{32}}(?!\w)", "vendor: crates.io"),
    Rule("docker-token", ("dckr_pat_", "dckr_oat_"), rf"{_URL64}{{20,}}+", "vendor: Docker Hub", words=True),
    Rule("nuget-key", ("oy2",), r"[0-9a-z]{43}(?!\w)", "vendor: NuGet"),
    Rule("clojars-token", ("CLOJARS_",), r"[0-9A-Za-z]{60}", "gitleaks: clojars-api-token"),
    Rule("packagist-token", ("packagist_ort_", "packagist_out_", "packagist_uut_", "packagist_ack_", "packagist_acs_"), rf"{_HEX}{{32,}}+", "vendor: Private Packagist"),
    Rule("jfrog-key", ("AKCp",), rf"{_AN}{{69,}}+", "gitleaks: artifactory-api-key"),
    Rule("jfrog-key", ("cmVmd",), rf"{_AN}{{59,}}+", "gitleaks: artifactory-reference-token"),
    Rule("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"\w{40,}+", "vendor: CircleCI"),
    Rule("buildkite-token", ("bkua_", "bkaj_", "bkat_", "bkct_", "bkpt_", "bkpat_", "bkrt_"), rf"{_URL64}{{32,}}+", "vendor: Buildkite", words=True),
    Rule("sonar-token", ("squ_", "sqp_", "sqa_"), r"[\w=-]{40}", "gitleaks: sonar-api-token", words=True),
    Rule("snyk-token", ("snyk_uat.", "snyk_sat."), r"[\w.-]{40,}+", "vendor: Snyk"),
    Rule("infracost-key", ("ico-",), rf"{_AN}{{32}}(?!{_AN})", "gitleaks: infracost-api-token"),
    Rule("octopus-key", ("API-",), r"[0-9A-Z]{26,34}(?![\w-])", "gitleaks: octopus-deploy-api-key"),
    Rule("harness-key", ("pat.", "sat."), r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}", "gitleaks: harness-api-key"),
    Rule("sourcegraph-token", ("sgp_",), r"(?:(?:[0-9A-Fa-f]{16}|local)_)?[0-9A-Fa-f]{40}", "gitleaks: sourcegraph-access-token"),
    Rule("postman-key", ("PMAK-",), r"[0-9A-Fa-f]{24}-[0-9A-Fa-f]{34}", "gitleaks: postman-api-token"),
    Rule("launchdarkly-key", ("api-", "sdk-", "mob-"), rf"{_UUID}(?![\w-])", "vendor: LaunchDarkly"),
    Rule("readme-key", ("rdme_",), r"[0-9a-z]{60,}+", "gitleaks: readme-api-token"),
    Rule("wakatime-key", ("waka_",), _UUID, "vendor: WakaTime"),
    # -- clouds and hosting -------------------------------------------------------------------------------
    Rule("aws-access-key-id", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"), r"[0-9A-Z]{16,17}(?![0-9A-Za-z])", "gitleaks: aws-access-token"),
    Rule("alibaba-key", ("LTAI",), rf"{_AN}{{12,26}}(?!\w)", "gitleaks: alibaba-access-key-id"),
    Rule("tencent-key", ("AKID",), rf"{_AN}{{28,40}}(?!\w)", "vendor: Tencent Cloud"),
    Rule("yandex-key", ("AQVN", "AQVW"), rf"{_URL64}{{35,}}+", "gitleaks: yandex-api-key"),
    Rule("yandex-key", ("YCA", "YCM", "YCN", "YCO", "YCP", "YCB", "YCE"), rf"{_URL64}{{37}}(?!\w)", "gitleaks: yandex-aws-access-token"),
    Rule("yandex-key", ("t1.",), r"[\w-]{6,}+={0,2}\.[\w-]{80,}+={0,2}", "gitleaks: yandex-access-token"),
    Rule("yandex-key", ("y0_Ag", "y0__"), rf"{_URL64}{{50,}}+", "vendor: Yandex OAuth"),
    Rule("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"{_HEX}{{64}}", "gitleaks: digitalocean-pat"),
    Rule("heroku-key", ("HRKU-",), rf"{_URL64}{{36,}}+", "gitleaks: heroku-api-key-v2"),
    Rule("scaleway-key", ("SCW",), r"[0-9A-Z]{17}(?!\w)", "vendor: Scaleway"),
    Rule("cloudflare-key", ("v1.0-",), rf"{_HEX}{{24}}-{_HEX}{{146,}}+", "gitleaks: cloudflare-origin-ca-key"),
    Rule("cloudflare-key", ("cfut_", "cfat_", "cfk_"), rf"{_URL64}{{40,}}+", "vendor: Cloudflare token prefixes", words=True),
    Rule("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), rf"{_AN}{{24,}}+", "vendor: Vercel token prefixes"),
    Rule("vercel-token", ("vercel_blob_rw_",), r"\w{30,}+", "vendor: Vercel Blob"),
    Rule("netlify-token", ("nfp_", "nfc_", "nfo_", "nfu_", "nfb_"), rf"{_AN}{{32,}}+", "vendor: Netlify"),
    Rule("render-key", ("rnd_",), rf"{_AN}{{24,}}+", "vendor: Render"),
    Rule("fly-token", ("fo1_",), rf"{_URL64}{{40,}}+", "gitleaks: flyio-access-token", words=True),
    Rule("fly-token", ("fm1a_", "fm1r_", "fm2_"), r"[0-9A-Za-z+/]{60,}+={0,3}(?:,fm[12][ar]?_[0-9A-Za-z+/]{60,}+={0,3}){0,8}+", "gitleaks: flyio-access-token"),
    Rule("scalingo-token", ("tk-us-", "tk-eu-"), rf"{_URL64}{{40,}}+", "gitleaks: scalingo-api-token"),
    Rule("supabase-key", ("sbp_",), rf"(?:oauth_)?{_HEX}{{40}}", "vendor: Supabase"),
    Rule("supabase-key", ("sb_secret_",), rf"{_URL64}{{20,}}+", "vendor: Supabase", words=True),
    Rule("planetscale-token", ("pscale_tkn_", "pscale_oauth_", "pscale_pw_"), r"[\w=.-]{32,}+", "gitleaks: planetscale-api-token", words=True),
    Rule("neon-key", ("napi_",), r"[0-9a-z]{40,}+", "vendor: Neon"),
    Rule("neon-password", ("npg_",), rf"{_AN}{{12,}}+", "vendor: Neon", words=True),
    Rule("mongodb-secret", ("mdb_sa_sk_",), rf"{_URL64}{{30,}}+", "vendor: MongoDB Atlas"),
    Rule("cockroach-key", ("CCDB1_",), r"[\w-]{40,}+", "vendor: CockroachDB Cloud"),
    Rule("aiven-password", ("AVNS_",), rf"{_URL64}{{12,}}+", "vendor: Aiven"),
    Rule("clickhouse-key", ("4b1d",), rf"{_AN}{{38}}(?!\w)", "gitleaks: clickhouse-cloud-api-secret-key"),
    Rule("databricks-token", ("dapi", "dkea", "dsapi"), rf"{_HEX}{{32}}(?:-\d)?(?!\w)", "gitleaks: databricks-api-token"),
    Rule("elastic-key", ("essu_",), rf"{_B64}{{40,}}+={{0,2}}", "vendor: Elastic Cloud"),
    Rule("tailscale-key", ("tskey-",), r"(?:[a-z]{2,12}-)?[\w-]{16,}+", "vendor: Tailscale"),
    Rule("defined-key", ("dnkey-",), r"[\w=-]{60,}+", "gitleaks: defined-networking-api-token"),
    Rule("openshift-token", ("sha256~",), rf"{_URL64}{{43}}", "gitleaks: openshift-user-token"),
    Rule("pulumi-token", ("pul-",), rf"{_HEX}{{40}}", "gitleaks: pulumi-api-token"),
    Rule("prefect-key", ("pnu_", "pnb_"), rf"{_AN}{{36}}", "gitleaks: prefect-api-token"),
    # -- secret managers ----------------------------------------------------------------------------------
    Rule("vault-token", ("hvs.", "hvb.", "hvr."), rf"{_URL64}{{24,}}+", "gitleaks: vault-service-token, vault-batch-token", words=True),
    Rule("vault-token", ("s.",), rf"{_AN}{{24}}(?:\.{_AN}{{5}})?(?![\w(-]|\.\w)", "gitleaks: vault-service-token, before 1.10", words=True),
    Rule("doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"(?:[\w-]{1,35}\.)?[0-9A-Za-z]{40,}+", "gitleaks: doppler-api-token"),
    Rule("1password-token", ("ops_eyJ",), rf"{_B64}{{100,}}+={{0,3}}", "gitleaks: 1password-service-account-token"),
    Rule("1password-key", ("A3-",), r"[0-9A-Z]{6}-(?:[0-9A-Z]{11}|[0-9A-Z]{6}-[0-9A-Z]{5})(?:-[0-9A-Z]{5}){3}", "gitleaks: 1password-secret-key"),
    Rule("infisical-token", ("st.",), rf"[0-9A-Za-z-]{{24,36}}\.{_HEX}{{32}}\.{_HEX}{{32}}", "vendor: Infisical"),
    # -- observability ------------------------------------------------------------------------------------
    Rule("grafana-token", ("glsa_",), rf"{_AN}{{32}}_[0-9A-Fa-f]{{8}}", "gitleaks: grafana-service-account-token"),
    Rule("grafana-token", ("glc_",), rf"{_B64}{{32,}}+={{0,3}}", "gitleaks: grafana-cloud-api-token"),
    Rule("grafana-token", ("eyJrIjoi",), rf"{_AN}{{50,}}+={{0,3}}", "gitleaks: grafana-api-key"),
    Rule("newrelic-key", ("NRAK-", "NRII-", "NRJS-", "NRRA-", "NRIQ-", "NRSP-"), rf"{_URL64}{{19,}}+", "gitleaks: new-relic-user-api-key, new-relic-insert-key, new-relic-browser-api-token"),
    Rule("dynatrace-token", ("dt0c01.", "dt0s01.", "dt0s02.", "dt0s04.", "dt0s08.", "dt0e01."), r"[0-9A-Za-z]{8,24}\.[0-9A-Za-z]{64}", "gitleaks: dynatrace-api-token"),
    Rule("sentry-token", ("sntrys_",), r"[\w+/=-]{24,}+", "gitleaks: sentry-org-token", words=True),
    Rule("sentry-token", ("sntryu_", "sntrya_"), rf"{_HEX}{{64}}", "gitleaks: sentry-user-token"),
    Rule("honeycomb-key", ("hcaik_", "hcbik_", "hcxik_", "hcamk_"), r"[0-9a-z]{40,}+", "vendor: Honeycomb"),
    Rule("axiom-token", ("xaat-", "xapt-"), _UUID, "vendor: Axiom"),
    Rule("posthog-key", ("phx_", "phs_"), rf"{_AN}{{40,}}+", "vendor: PostHog"),
    Rule("datadog-key", ("ddapp_", "ddpat_"), rf"{_AN}{{24,}}+", "vendor: Datadog"),
    # -- work ---------------------------------------------------------------------------------------------
    Rule("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), rf"{_AN}{{32,}}+", "gitleaks: linear-api-key"),
    Rule("notion-token", ("ntn_",), rf"{_AN}{{40,}}+", "gitleaks: notion-api-token"),
    Rule("notion-token", ("secret_",), rf"{_AN}{{43}}(?!\w)", "vendor: Notion, older tokens", words=True),
    Rule("airtable-token", ("pat",), rf"{_AN}{{14}}\.{_HEX}{{64}}", "gitleaks: airtable-personnal-access-token"),
    Rule("figma-token", ("figd_", "figo_", "figu_"), rf"{_URL64}{{36,}}+", "vendor: Figma", words=True),
    Rule("clickup-token", ("pk_",), r"\d{5,10}_[0-9A-Z]{32}", "vendor: ClickUp"),
    Rule("typeform-token", ("tfp_",), r"[\w.=-]{40,}+", "gitleaks: typeform-api-token", words=True),
    Rule("hubspot-token", ("pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"), _UUID, "vendor: HubSpot private apps"),
    Rule("intercom-token", ("dG9rO",), r"[0-9A-Za-z+/]{40,}+={0,2}", "vendor: Intercom"),
    Rule("contentful-token", ("CFPAT-",), rf"{_URL64}{{40,}}+", "vendor: Contentful"),
    Rule("dropbox-token", ("sl.",), r"(?:[uB]\.)?[\w-]{100,}+", "gitleaks: dropbox-short-lived-api-token"),
    Rule("frameio-token", ("fio-u-",), r"[\w=-]{60,}+", "gitleaks: frameio-api-token", words=True),
    Rule("adobe-secret", ("p8e-", "p8-"), rf"{_URL64}{{32,}}+", "gitleaks: adobe-client-secret", words=True),
    Rule("linkedin-secret", ("WPL_AP1.",), r"[\w.+/-]{16,}+={0,2}", "vendor: LinkedIn"),
    Rule("facebook-token", ("EAA",), rf"{_AN}{{80,}}+", "gitleaks: facebook-page-access-token"),
    Rule("instagram-token", ("IGQV", "IGAA"), rf"{_URL64}{{80,}}+", "vendor: Instagram"),
    Rule("pinterest-token", ("pina_", "pinr."), rf"{_AN}{{32,}}+", "vendor: Pinterest"),
    Rule("twitter-bearer", ("AAAAAAAAAAAAAAAAAAAA",), r"[0-9A-Za-z%]{60,}+", "gitleaks: twitter-bearer-token"),
    # -- messages -----------------------------------------------------------------------------------------
    Rule("slack-token", ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxo-", "xoxp-", "xoxr-", "xoxs-"), r"[\w%-]{8,}+", "gitleaks: slack-bot-token, slack-user-token and five more", words=True),
    Rule("slack-token", ("xoxa-", "xoxr-"), rf"(?:\d-)?{_AN}{{8,48}}(?![\w-])", "gitleaks: slack-legacy-workspace-token"),
    Rule("slack-token", ("xoxe-", "xoxe."), r"(?:xox[bp]-)?[\w%-]{10,}+", "gitleaks: slack-config-access-token, slack-config-refresh-token", words=True),
    Rule("slack-token", ("xapp-", "xwfp-"), r"(?:\d-[0-9A-Z]++-\d++-[0-9A-Za-z]++|[\w-]{16,}+)", "gitleaks: slack-app-token", words=True),
    Rule("sendgrid-key", ("SG.",), r"(?:[\w-]{16,32}\.[\w-]{32,64}|[\w=.-]{66})", "gitleaks: sendgrid-api-token", words=True),
    Rule("brevo-key", ("xkeysib-", "xsmtpsib-"), rf"{_HEX}{{64}}-{_AN}{{16}}", "gitleaks: sendinblue-api-token"),
    Rule("mailersend-token", ("mlsn.",), rf"{_HEX}{{64}}(?!\w)", "vendor: MailerSend"),
    Rule("resend-key", ("re_",), rf"{_AN}{{8}}_{_AN}{{20,}}+", "vendor: Resend"),
    Rule("mandrill-key", ("md-",), rf"{_URL64}{{22}}(?!{_URL64})", "vendor: Mailchimp Transactional", words=True),
    Rule("mailgun-key", ("key-", "pubkey-"), rf"{_HEX}{{32}}(?!\w)", "gitleaks: mailgun-private-api-token"),
    Rule("twilio-key", ("SK", "AC"), r"[0-9A-Fa-f]{32}(?!\w)", "gitleaks: twilio-api-key"),
    Rule("telnyx-key", ("KEY0",), rf"{_AN}{{20,}}+_{_AN}{{16,}}+", "vendor: Telnyx"),
    Rule("onesignal-key", ("os_v2_app_", "os_v2_org_"), r"[0-9a-z]{40,}+", "vendor: OneSignal"),
    Rule("pubnub-key", ("sec-c-", "sub-c-"), r"[0-9A-Za-z-]{32,}+", "vendor: PubNub", words=True),
    # -- money and shops ----------------------------------------------------------------------------------
    Rule("stripe-key", ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"), rf"{_URL64}{{10,}}+", "gitleaks: stripe-access-token; vendor: Clerk, Knock, WorkOS and others use the same form", words=True),
    Rule("stripe-key", ("sk_org_live_", "sk_org_test_"), rf"{_AN}{{24,}}+", "vendor: Stripe organizations"),
    Rule("liveblocks-key", ("sk_dev_",), rf"{_URL64}{{24,}}+", "vendor: Liveblocks", words=True),
    Rule("polar-token", ("polar_oat_", "polar_pat_", "polar_whs_", "polar_cst_"), rf"{_URL64}{{32,}}+", "vendor: Polar", words=True),
    Rule("stripe-key", ("whsec_",), rf"{_B64}{{24,}}+={{0,2}}", "vendor: Stripe and Svix webhooks"),
    Rule("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), rf"{_URL64}{{22,}}+", "gitleaks: square-access-token"),
    Rule("square-token", ("EAAA",), rf"{_URL64}{{22,70}}(?!{_URL64})", "gitleaks: square-access-token", words=True),
    Rule("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shprt_"), r"[0-9A-Fa-f]{32,}+", "gitleaks: shopify-access-token and three more"),
    Rule("braintree-token", ("access_token$",), r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", "vendor: PayPal Braintree"),
    Rule("plaid-token", ("access-sandbox-", "access-development-", "access-production-"), _UUID, "gitleaks: plaid-api-token"),
    Rule("razorpay-key", ("rzp_live_", "rzp_test_"), rf"{_AN}{{14,}}+", "vendor: Razorpay"),
    Rule("shippo-token", ("shippo_live_", "shippo_test_"), r"[0-9A-Fa-f]{40}", "gitleaks: shippo-api-token"),
    Rule("easypost-key", ("EZAK", "EZTK"), rf"{_AN}{{54}}", "gitleaks: easypost-api-token"),
    Rule("lob-key", ("live_", "test_"), rf"(?:pub_)?{_HEX}{{31,}}+(?!\w)", "gitleaks: lob-api-key"),
    Rule("mollie-key", ("live_", "test_"), rf"{_AN}{{30}}(?!\w)", "vendor: Mollie", words=True),
    Rule("gocardless-token", ("live_", "sandbox_"), rf"{_URL64}{{40}}(?!\w)", "gitleaks: gocardless-api-token", words=True),
    Rule("duffel-token", ("duffel_live_", "duffel_test_"), r"[\w=-]{40,}+", "gitleaks: duffel-api-token"),
    Rule("flutterwave-key", ("FLWSECK_TEST-", "FLWSECK-", "FLWPUBK_TEST-"), rf"{_AN}{{12,}}+(?:-X)?", "gitleaks: flutterwave-secret-key, flutterwave-encryption-key"),
    Rule("paddle-key", ("pdl_live_", "pdl_sdbx_", "pdl_ntfset_"), r"\w{30,}+", "vendor: Paddle"),
    Rule("woocommerce-key", ("ck_", "cs_"), rf"{_HEX}{{40}}(?!\w)", "vendor: WooCommerce"),
    Rule("adyen-key", ("AQE",), rf"[mh]{_B64}{{50,}}+(?:={{0,2}}-{_B64}{{40,}}+={{0,2}}-[\w{{}}<>()\[\]^|:;.,!?@#$%&*+=~-]{{8,20}})?", "vendor: Adyen"),
    # -- keys in armour, hashes, phrases ------------------------------------------------------------------
    Rule("age-key", ("AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1"), r"[0-9A-Z]{58,}+", "gitleaks: age-secret-key"),
    Rule("nostr-key", ("nsec1",), r"[02-9ac-hj-np-z]{58}(?!\w)", "spec: NIP-19"),
    Rule("bitcoin-key", ("xprv", "yprv", "zprv", "tprv"), r"[1-9A-HJ-NP-Za-km-z]{100,}+", "spec: BIP-32"),
    Rule("password-hash", ("$2a$", "$2b$", "$2x$", "$2y$"), r"\d\d\$[./0-9A-Za-z]{53}", "spec: bcrypt"),
    Rule("password-hash", ("$1$", "$5$", "$6$", "$apr1$", "$sha1$"), r"(?:rounds=\d{1,9}\$|\d{1,6}\$)?[./0-9A-Za-z]{1,64}\$[./0-9A-Za-z]{22,128}", "spec: crypt(5)"),
    Rule("password-hash", ("$y$", "$gy$", "$7$"), r"[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{1,86}\$[./0-9A-Za-z]{40,}+", "spec: crypt(5)"),
    Rule("password-hash", ("$argon2i$", "$argon2d$", "$argon2id$"), r"(?:v=\d{1,3}\$)?[\w=,]{5,60}\$[0-9A-Za-z+/]{8,}+={0,2}\$[0-9A-Za-z+/]{16,}+={0,2}", "spec: argon2"),
    Rule("password-hash", ("$scrypt$", "$pbkdf2-sha256$", "$pbkdf2-sha512$", "$pbkdf2$", "$P$", "$H$"), r"(?:[\w=,]{1,40}\$)?[./0-9A-Za-z+$]{28,128}={0,2}", "spec: PHC string format"),
    Rule("password-hash", ("pbkdf2_sha256$", "pbkdf2_sha1$", "scrypt$", "bcrypt_sha256$"), r"[\w$./=,:+]{40,}+", "vendor: Django"),
    Rule("password-hash", ("{SHA}",), r"[0-9A-Za-z+/]{27}=", "vendor: Apache htpasswd"),
    Rule("password-hash", ("{SSHA}", "{SSHA256}", "{SSHA512}", "{CRYPT}", "{PBKDF2}"), r"[0-9A-Za-z+/$.=]{24,}+", "spec: RFC 2307"),
    Rule("jwt", ("eyJ",), r"[\w-]{8,}+\.(?:[\w-]{8,}+|(?=\.[\w-]{8}))\.[\w-]*+(?:\.[\w-]++){0,2}", "spec: RFC 7519"),
    Rule("mapbox-token", ("sk.eyJ", "tk.eyJ"), r"[\w-]{20,}+\.[\w-]{20,}+", "gitleaks: mapbox-api-token"),
    Rule("jwt", ("ZXlK",), r"[\w+/\\-]{40,}+={0,2}", "gitleaks: jwt-base64"),
    Rule("tinybird-token", ("p.eyJ",), r"[\w-]{20,}+\.[\w-]{20,}+", "vendor: Tinybird"),
    Rule("beamer-key", ("b_",), r"[0-9a-z=_-]{44}(?![\w=-])", "gitleaks: beamer-api-token", words=True),
    Rule("intra42-secret", ("s-s4t2ud-", "s-s4t2af-"), rf"{_HEX}{{64}}", "gitleaks: intra42-client-secret"),
    Rule("settlemint-token", ("sm_aat_", "sm_pat_", "sm_sat_"), rf"{_AN}{{16,}}+", "gitleaks: settlemint-personal-access-token"),
    Rule("authress-key", ("sc_", "ext_", "scauth_", "authress_"), r"[0-9a-z]{5,30}\.[0-9a-z]{4,6}\.acc[_-][0-9a-z-]{10,32}\.[0-9A-Za-z+/_=-]{30,120}", "gitleaks: authress-service-client-access-key"),
    Rule("inngest-key", ("signkey-",), rf"[a-z]{{2,12}}-{_HEX}{{32,}}+", "vendor: Inngest"),
    Rule("trigger-key", ("tr_dev_", "tr_prod_", "tr_stg_"), rf"{_AN}{{20,}}+", "vendor: Trigger.dev"),
    Rule("statsig-secret", ("secret-",), rf"{_AN}{{40,}}+(?![\w-])", "vendor: Statsig", words=True),
    Rule("cal-key", ("cal_", "cal_live_"), rf"{_HEX}{{32}}(?!\w)", "vendor: Cal.com"),
    Rule("stytch-secret", ("secret-live-", "secret-test-"), r"[\w=-]{32,}+", "vendor: Stytch", words=True),
)  # fmt: skip

INNER: tuple[Inner, ...] = (
    Inner("mailchimp-key", "-", rf"(?<={_HEX}{{32}}-)(?=us\d)", 32, rf"{_HEX}{{32}}-us\d{{1,2}}(?!\w)", "gitleaks: mailchimp-api-key"),
    Inner("mailgun-key", "-", rf"(?<={_HEX}{{32}}-)(?={_HEX}{{8}}-)", 32, rf"{_HEX}{{32}}-{_HEX}{{8}}-{_HEX}{{8}}(?![\w-])", "gitleaks: mailgun-signing-key"),
    Inner("terraform-token", ".", r"(?<=\w{14}\.)(?=atlasv1\.)", 14, r"[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{50,}+", "gitleaks: hashicorp-tf-api-token"),
    Inner("azure-client-secret", "~", r"(?<=\dQ~)", 5, r"[\w~.-]{3}\dQ~[\w~.-]{31,}+", "gitleaks: azure-ad-client-secret"),
    Inner("azure-key", "J", r"(?<=\w{52}J)(?=QQJ99)", 52, r"[0-9A-Za-z]{52}JQQJ99[0-9A-Za-z]{26,}+", "vendor: Azure AI services"),
    Inner("telegram-token", ":", r"(?<=\d{8}:)(?=[\w-]{35}(?![\w-]))", 13, r"(?:bot)?(\d{8,10}:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{35})", "gitleaks: telegram-bot-api-token", group=True),
    Inner("discord-token", ".", r"(?<=[\w-]{23}\.)(?=[\w-]{6}\.[\w-]{27})", 29, r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,}+", "vendor: Discord"),
    Inner("discord-token", ".", r"(?<=mfa\.)(?=[\w-]{80})", 3, r"mfa\.[\w-]{80,}+", "vendor: Discord"),
    Inner("rapidapi-key", "p", rf"(?<={_HEX}p)(?=1{_HEX}{{6}}jsn)", 28, r"[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{6}jsn[0-9a-f]{12}", "vendor: RapidAPI"),
    Inner("asana-token", ":", rf"{_HEX}{{32}}(?<=\d{{10}}:{_HEX}{{32}})", 44, r"[0-2]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}(?!\w)", "vendor: Asana"),
    Inner("facebook-token", "|", r"(?<=\d{15}\|)(?=[\w-]{27})", 16, r"\d{15,16}\|[\w-]{27,40}(?!\w)", "gitleaks: facebook-access-token"),
    Inner("facebook-token", "%", r"(?<=\d{15}%)(?=[\w-]{27})", 16, r"\d{15,16}%[\w-]{27,42}(?!\w)", "gitleaks: facebook-access-token"),
    Inner("newrelic-key", "A", r"L(?!\w)(?<=NRAL)", 38, r"[0-9a-zA-Z]{36}NRAL", "vendor: New Relic licence keys"),
    Inner("bitwarden-token", ".", rf"(?<=0\.)(?={_UUID}\.)", 1, rf"0\.{_UUID}\.[0-9A-Za-z]{{20,}}+:[0-9A-Za-z+/]{{20,}}+={{0,2}}", "vendor: Bitwarden Secrets Manager"),
    Inner("firebase-key", ":", r"APA91b(?<=AAAA[\w-]{7}:APA91b)", 11, r"AAAA[\w-]{7}:APA91b[\w-]{100,}+", "vendor: Firebase Cloud Messaging"),
    Inner("sidekiq-secret", ":", r"(?<=[0-9a-f]{8}:)(?=[0-9a-f]{8}(?!\w))", 60, rf"(?i:BUNDLE_(?:ENTERPRISE|GEMS)__CONTRIBSYS__COM)[\\\"']{{0,4}}(?:\s*[:=]\s*|=>|\s+)[\\\"']{{0,4}}({_HEX}{{8}}:{_HEX}{{8}})", "gitleaks: sidekiq-secret", group=True),
    Inner("convex-key", "|", r"(?<=[0-9a-z]\|)(?=[0-9A-Za-z+/]{40})", 80, r"(?:prod|dev|preview):[0-9a-z:-]{1,70}\|[0-9A-Za-z+/]{40,}+={0,2}", "vendor: Convex"),
    Inner("maxmind-key", "_", r"(?<=\w{6}_)(?=\w{29}_mmk(?!\w))", 6, r"[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk", "gitleaks: maxmind-license-key"),
    Inner("ngrok-token", "_", r"(?<=[0-9A-Za-z]{26}_)(?=[0-9A-Za-z]{20})", 27, r"[12][0-9A-Za-z]{26}_[0-9A-Za-z]{20,24}(?!\w)", "vendor: ngrok"),
    Inner("jwt", ".", r"(?<=[0-9A-Za-z]{19}\.)(?=ey[\w/\\-]{17,}+\.)", 120, r"ey[0-9A-Za-z]{17,}+\.ey[\w/\\-]{17,}+\.(?:[\w/\\-]{10,}+={0,2})?", "gitleaks: jwt"),
    Inner("slack-webhook", ".", r"(?<=hooks\.)(?=slack\.com)", 5, rf"hooks\.slack(?:-gov)?\.com{_SLASH}(?:services|workflows|triggers){_SLASH}([\w+]{{2,}}+(?:{_SLASH}[\w+]{{1,}}+){{0,8}}+)", "gitleaks: slack-webhook-url", group=True),
    Inner("discord-webhook", "w", rf"(?<=/w)(?=ebhooks{_SLASH}\d)", 0, rf"webhooks{_SLASH}(\d{{15,22}}{_SLASH}[\w-]{{60,}}+)", "vendor: Discord", group=True),
    Inner("teams-webhook", "w", rf"(?<=/w)(?=ebhookb2{_SLASH})", 0, rf"webhookb2{_SLASH}([\w@-]{{40,120}}{_SLASH}IncomingWebhook{_SLASH}[0-9A-Za-z]{{32}}{_SLASH}[\w-]{{36}}(?:{_SLASH}[\w-]{{20,}}+)?)", "gitleaks: microsoft-teams-webhook", group=True),
    Inner("paypal-token", "A", r"(?=21AA[\w-]{80})", 0, r"A21AA[\w-]{80,}+", "vendor: PayPal"),
)  # fmt: skip
