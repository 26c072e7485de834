/** Bodies by operation id, where members exclude each other or values depend on the service. */
export const requestExamples: Readonly<Record<string, unknown>> = {
  "accounts.register": { email: "ada@example.com", password: "correct horse battery", name: "Ada" },
  "apiKeys.create": { name: "Ada", scopes: ["agents", "chat"] },
  "agents.provision": {
    name: "Ada",
    model: "custom",
    config: { customModel: "openai/gpt-4o-mini", skills: ["time"], timezone: "Europe/London", heartbeat: "0 9 * * 1" }
  },
  "agentConfig.change": {
    model: "custom",
    customModel: "openai/gpt-4o-mini",
    skills: ["time"],
    systemPrompt: "You are the assistant of a harbor.",
    temperature: 1,
    timezone: "Europe/London",
    heartbeat: "0 9 * * 1"
  },
  "deployments.deploy": {
    agentId: "agt_01jn8z5t7v",
    config: { model: "custom", customModel: "openai/gpt-4o-mini", skills: ["time"], heartbeat: null }
  },
  "uploadedSkills.upload": {
    files: [
      {
        path: "SKILL.md",
        content: "---\nname: tides\ndescription: Answers questions about tides\n---\nHigh water comes twice a day.",
        encoding: "utf8"
      }
    ]
  },
  "memory.create": { text: "The user is vegetarian." },
  "schedules.create": { cron: "0 9 * * 1", timezone: "Europe/London", prompt: "What is the weather like at sea?" },
  "schedules.change": { cron: "0 9 * * 1", timezone: "Europe/London", enabled: true },
  "verification.verify": { verificationType: "eas", attestationUid: `0x${"5a".repeat(32)}` },
  "agentWallet.changeLimits": { perCall: "1000000", perDay: "5000000", perAgent: "50000000", confirmAbove: "500000" },
  "interaction.act": { action: "chat", message: "What is the weather like at sea?", agentId: "agt_01jn8z5t7v" },
  "interaction.chat": { message: "What is the weather like at sea?" },
  "openAiGateway.createChatCompletion": {
    model: "anthropic/claude-opus-4-6",
    messages: [{ role: "user", content: "What is the weather like at sea?" }],
    max_tokens: 100
  },
  "openAiGateway.createResponse": {
    model: "anthropic/claude-opus-4-6",
    input: "What is the weather like at sea?",
    max_output_tokens: 100
  },
  "openAiGateway.createEmbedding": { model: "text-embedding-3-small", input: "What is the weather like at sea?" },
  "openAiGateway.createSpeech": { model: "tts-1", voice: "alloy", input: "What is the weather like at sea?" }
}
