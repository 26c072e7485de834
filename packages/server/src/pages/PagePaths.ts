export const pagePaths = {
  front: "/",
  login: "/login",
  signup: "/signup",
  dashboard: "/dashboard",
  files: "/dashboard/files",
  onboarding: "/onboarding",
  pricing: "/pricing"
} as const
