package check

// JudgeAll switches on what a checker does not judge yet.
func (c *Checker) JudgeAll() { c.judgesAll = true }
