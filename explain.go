package berth

type Explanation struct{}

func (c *Core) Explain(job JobID) (Explanation, error) { return Explanation{}, nil }
