export const pagePaths = {
  front: "/",
  login: "/login",
  dashboard: "/dashboard",
  files: "/dashboard/files",
  onboarding: "/onboarding",
  pricing: "/pricing"
} as const
