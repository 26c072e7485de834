/** A setting that the setup reads from the environment or prompts for. */
export interface SetupQuestion {
  readonly name: string
  readonly text: string
  /** Used for an empty answer, and without a terminal. */
  readonly fallback?: string
  /** The question applies only if this setting has a value. */
  readonly after?: string
}

export const modelKeys = ["OPENROUTER", "OPENAI", "ANTHROPIC", "GOOGLE", "GROQ"].map((name) => `${name}_API_KEY`)

export const setupQuestions: ReadonlyArray<SetupQuestion> = [
  { name: "APP_URL", text: "Public https URL of the service, for example https://berth.example.com" },
  { name: "DATABASE_URL", text: "PostgreSQL database, postgres://user:password@host:5432/name" },
  { name: "REDIS_URL", text: "Redis for queues and limits, redis://host:6379 (empty: PostgreSQL)" },
  { name: "SMTP_URL", text: "Mail server, smtp://user:password@host:587 or smtps://" },
  { name: "MAIL_FROM", text: "Sender of mails, Berth <no-reply@example.com> (empty: no-reply at the host of APP_URL)" },
  { name: "ADMIN_EMAILS", text: "Email addresses of administrators, comma-separated (empty: none)" },
  { name: "STRIPE_SECRET_KEY", text: "Secret key of the card processor, Stripe (empty: no card payments)" },
  {
    name: "STRIPE_WEBHOOK_SECRET",
    text: "Signing secret of its webhook <APP_URL>/api/webhooks/cardProcessor",
    after: "STRIPE_SECRET_KEY"
  },
  { name: "MPP_RECIPIENT", text: "Tempo address that machine payments go to, 0x... (empty: no machine payments)" },
  { name: "AGENT_RUNTIME", text: "Instance driver of agents, process or docker (empty: process)", fallback: "process" }
]
